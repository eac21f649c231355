"""What had to be reached, what was, and the verdict in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Final

from hmas.bench.paper.evidence import Evidence, Value
from hmas.bench.paper.numbers import TABLE_1
from hmas.bench.paper.plan import ABLATED, BY_CONSTRUCTION
from hmas.bench.paper.tables import table_2

LOADED: Final = ("near", "over", "heavy", "stress")
LOW_GOODPUT: Final = 0.25
STOCK_MARGIN: Final = 0.03
"""How far from the paper's vLLM a slice's stock compliance may lie."""
HURT: Final = 1.01


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    DOES_NOT_APPLY = "does not apply"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Target:
    """``wanted`` is in words, ``value`` the number that decides."""

    name: str
    wanted: str
    value: float | None
    verdict: Verdict
    detail: str = ""

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def targets(evidence: Evidence) -> list[Target]:
    """All of them, also those that this selection did not measure."""
    groups: tuple[Callable[[Evidence], Iterator[Target]], ...] = (
        _against_stock,
        _against_plain,
        _against_pairs,
        _light,
        _slices,
        _directions,
    )
    return [target for group in groups for target in group(evidence)]


def _least(name: str, value: float | None, least: float, unit: str, detail: str) -> Target:
    if value is None:
        return Target(name, f"at least {least:g}{unit}", None, Verdict.NOT_MEASURED)
    verdict = Verdict.PASS if value >= least else Verdict.FAIL
    return Target(name, f"at least {least:g}{unit}", value, verdict, detail)


def _over(evidence: Evidence, scenario: str, other: str | None) -> tuple[float | None, str]:
    """Goodput of H-MAS as a multiple of another system's."""
    ours = evidence.goodput(scenario, "hmas")
    theirs = evidence.goodput(scenario, other) if other else None
    if ours is None or theirs is None:
        return None, ""
    detail = f"H-MAS {ours:.3f}, {other} {theirs:.3f}"
    return (ours / theirs if theirs else 1e6), detail


def _ceiling(evidence: Evidence, scenario: str, other: str | None, least: float) -> str:
    """Says so where even the clairvoyant bound falls short of the multiple."""
    bound = evidence.bound(scenario)
    theirs = evidence.goodput(scenario, other) if other else None
    if not bound or not theirs or bound / theirs >= least:
        return ""
    return f"; out of reach for anybody: the clairvoyant bound is {bound / theirs:.2f}x"


def _against_stock(evidence: Evidence) -> Iterator[Target]:
    for scenario in LOADED:
        value, detail = _over(evidence, scenario, "stock")
        stock = evidence.goodput(scenario, "stock")
        detail += _ceiling(evidence, scenario, "stock", 3.0)
        name = f"{scenario}: goodput over stock where stock is under {LOW_GOODPUT:g}"
        if stock is not None and stock >= LOW_GOODPUT:
            yield Target(name, "at least 3x", value, Verdict.DOES_NOT_APPLY, detail)
        else:
            yield _least(name, value, 3.0, "x", detail)
    value, detail = _over(evidence, "stress", "stock")
    yield _least("stress: goodput over stock", value, 2.0, "x", detail)


def _against_plain(evidence: Evidence) -> Iterator[Target]:
    for scenario in ("near", "over", "heavy"):
        best = evidence.best_static(scenario, plain=True)
        value, detail = _over(evidence, scenario, best)
        detail += _ceiling(evidence, scenario, best, 2.0)
        yield _least(f"{scenario}: goodput over the best FCFS budget", value, 2.0, "x", detail)


def _against_pairs(evidence: Evidence) -> Iterator[Target]:
    for scenario in LOADED:
        value, detail = _over(evidence, scenario, evidence.best_static(scenario))
        name = f"{scenario}: goodput over the best static pair in hindsight"
        yield _least(name, value, 1.0, "x", detail)


def _light(evidence: Evidence) -> Iterator[Target]:
    value, detail = _over(evidence, "light", evidence.best("light"))
    yield _least("light: goodput over the best of all", value, 0.99, "x", detail)
    of: dict[str, Value] = {
        "TTFT P50": lambda run: run.ttft_ms[50],
        "TTFT P99": lambda run: run.ttft_ms[99],
        "TPOT P50": lambda run: run.tpot_ms[50],
        "TPOT P99": lambda run: run.tpot_ms[99],
    }
    for label, latency in of.items():
        ours = evidence.median("light", "hmas", latency)
        stock = evidence.median("light", "stock", latency)
        yield _most(f"light: {label} over stock", ours, stock, HURT)


def _most(name: str, ours: float | None, theirs: float | None, most: float) -> Target:
    wanted = f"at most {most:g}x"
    if ours is None or theirs is None:
        return Target(name, wanted, None, Verdict.NOT_MEASURED)
    ratio = ours / theirs if theirs else 1.0
    detail = f"H-MAS {ours:.2f}, stock {theirs:.2f}"
    return Target(name, wanted, ratio, Verdict.PASS if ratio <= most else Verdict.FAIL, detail)


def _slices(evidence: Evidence) -> Iterator[Target]:
    for scenario, (paper_stock, paper_hmas) in TABLE_1.items():
        ours = evidence.median(scenario, "hmas", lambda run: run.ttft_compliance)
        stock = evidence.median(scenario, "stock", lambda run: run.ttft_compliance)
        detail = "" if stock is None else f"stock {stock:.3f}"
        name = f"{scenario} slice: TTFT compliance"
        yield _least(name, ours, paper_hmas.ttft_compliance, "", detail)
        yield _near(f"{scenario} slice: stock's TTFT compliance", stock, paper_stock)
        for key in ("mismatch_mean", "mismatch_p95"):
            yield _most(f"{scenario} slice: {key}", *_mismatches(evidence, scenario, key), 1.0)


def _near(name: str, value: float | None, paper: tuple[float, ...]) -> Target:
    stated = paper[2]
    wanted = f"about {stated:g}"
    if value is None:
        return Target(name, wanted, None, Verdict.NOT_MEASURED)
    close = abs(value - stated) <= STOCK_MARGIN
    return Target(name, wanted, value, Verdict.PASS if close else Verdict.FAIL)


def _mismatches(evidence: Evidence, scenario: str, key: str) -> tuple[float | None, float | None]:
    def of(system: str) -> float | None:
        return evidence.median(scenario, system, lambda run: float(getattr(run, key)))

    return of("hmas"), of("stock")


def _directions(evidence: Evidence) -> Iterator[Target]:
    """The sign of every change of Table 2: does it go where the paper's goes?"""
    for scenario in ABLATED:
        for row in table_2(evidence, scenario):
            if row["system"] != BY_CONSTRUCTION:
                yield from _row_directions(scenario, row)


def _row_directions(scenario: str, row: dict[str, object]) -> Iterator[Target]:
    paper, ours = row["paper"], row["ours"]
    if not isinstance(paper, dict) or not isinstance(ours, dict):
        return
    for key, stated in paper.items():
        value = ours[key]
        name = f"{scenario}, {row['title']}: {key}"
        wanted = f"{'below' if stated < 1 else 'above'} 1 (paper {stated:g})"
        if value is None:
            yield Target(name, wanted, None, Verdict.NOT_MEASURED)
            continue
        holds = (value < 1) == (stated < 1) and value != 1
        yield Target(name, wanted, value, Verdict.PASS if holds else Verdict.FAIL)

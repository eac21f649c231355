"""The HTML report: charts, tables, targets with their verdicts, caveats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hmas.bench.html_report import Section, page
from hmas.bench.paper.charts import (
    TITLES,
    ablation_bars,
    over_load,
    over_time,
    radar,
    replay_windows,
    scaling,
)
from hmas.bench.paper.document import Document
from hmas.bench.paper.evidence import Evidence
from hmas.bench.paper.plan import SCALING, WINDOWS

Cells = dict[str, object]


def report(made: Document, evidence: Evidence) -> str:
    """The whole page as text."""
    origin = " · ".join(str(made[key]) for key in ("date", "machine", "commit", "command"))
    sections = [
        Section("Targets", "What had to be reached, and the verdict.", _rows(made["targets"])),
        Section("What to keep in mind", " ".join(_words(made["caveats"]))),
        Section("Workloads and systems", str(made["lengths"]), summary_rows(made)),
        *_chart_sections(evidence),
        *_table_sections(made),
    ]
    return page("H-MAS: the paper's experiments, replayed", origin, sections)


def summary_rows(made: Document) -> list[Cells]:
    """One row per workload: goodput of the systems that matter, and the bound."""
    rows: list[Cells] = []
    for name, workload in _items(made["workloads"]):
        systems = dict(_items(workload["systems"]))
        best, plain = str(workload["best_static"]), str(workload["best_fcfs"])
        row: Cells = {"workload": name, "requests/s": workload["rps"]}
        for system, title in TITLES.items():
            row[title] = systems[system]["goodput_rate"] if system in systems else None
        row["best FCFS budget"] = systems[plain]["goodput_rate"] if plain in systems else None
        row["best static"] = systems[best]["goodput_rate"] if best in systems else None
        row["which"] = best.removeprefix("static:") if best in systems else None
        row["clairvoyant bound"] = workload["upper_bound"]
        rows.append(row)
    return rows


def _items(value: object) -> list[tuple[str, Mapping[str, object]]]:
    return list(value.items()) if isinstance(value, dict) else []


def _rows(value: object) -> Sequence[Mapping[str, object]]:
    return value if isinstance(value, list) else []


def _words(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _chart_sections(evidence: Evidence) -> list[Section]:
    has = evidence.runs
    sections = []
    if has("near", "hmas") and has("light", "hmas"):
        words = "Azure 2023 replays; medians over the seeds."
        sections.append(Section("Compliance over load", words, chart=over_load(evidence)))
        words = "Each axis as a share of the best system's, at overload."
        sections.append(Section("Five metrics at once", words, chart=radar(evidence, "over")))
    if has(SCALING[0], "hmas"):
        words = "Figure 5: goodput, ESG, TTFT and TPOT compliance."
        sections.append(Section("Scaling", words, chart=scaling(evidence)))
    if has(WINDOWS[0], "hmas"):
        words = "Figure 6: the same trace for 300, 600 and 1200 s."
        sections.append(Section("Longer replays", words, chart=replay_windows(evidence)))
    for scenario in ("stress", "semantic"):
        if has(scenario, "hmas"):
            words = "Goodput rate per 10 s of arrivals, first seed."
            chart = over_time(evidence, scenario)
            sections.append(Section(f"Figure 8: {scenario}", words, chart=chart))
    if has("near", "frozen-statera"):
        words = "Table 2: goodput as a multiple of H-MAS."
        sections.append(Section("Ablations", words, chart=ablation_bars(evidence)))
    return sections


def _table_sections(made: Document) -> Iterable[Section]:
    for number, rows in _items(made["tables"]):
        flat = [_flat(row) for row in _rows(rows)]
        if flat:
            yield Section(f"Table {number}: the paper's numbers and ours", table=flat)


def _flat(row: Mapping[str, object]) -> Cells:
    """``paper`` and ``ours`` side by side, metric by metric."""
    cells: Cells = {key: row[key] for key in ("scenario", "system") if key in row}
    paper, ours = row["paper"], row["ours"]
    if isinstance(paper, dict) and isinstance(ours, dict):
        for key, stated in paper.items():
            cells[f"{key}, paper"] = stated
            cells[f"{key}, ours"] = ours[key]
    return cells


def flat_rows(made: Document, number: str) -> list[Cells]:
    """One of the document's tables as printable rows."""
    return [
        _flat(row) for name, rows in _items(made["tables"]) if name == number for row in _rows(rows)
    ]

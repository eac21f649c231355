"""How right the gateway's predictions are on live traffic, read from its ``/metrics``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import httpx

from hmas.daemon.cli.client import url_of
from hmas.daemon.cli.findings import Finding, Mark
from hmas.daemon.cli.models import OFF
from hmas.daemon.settings import Settings

TIMEOUT_S: Final = 2.0
PREFIX: Final = "hmas_gateway_"
LATENCIES: Final = {"ttft": "TTFT", "tpot": "TPOT"}
STANDINGS: Final = {
    "absent": "no challenger",
    "shadow": "the challenger is in the shadow",
    "promoted": "the challenger was promoted",
    "quarantined": "the challenger was rolled back",
}
COUNTED: Final = ("drifts", "promotions", "rollbacks")
"""Since the start of the gateway."""
TRAIN: Final = "hmas train length --from-db, then gateway.length_challenger"


class Scrape:
    """The samples of one ``/metrics``, without the prefix of the gateway's own."""

    def __init__(self, text: str) -> None:
        from prometheus_client.parser import text_string_to_metric_families

        self._samples = [
            (sample.name.removeprefix(PREFIX), sample.labels, sample.value)
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name.startswith(PREFIX)
        ]

    def __bool__(self) -> bool:
        return bool(self._samples)

    def get(self, metric: str, **labels: str) -> float | None:
        """The value with these labels; None: nothing was measured."""
        for name, found, value in self._samples:
            if name == metric and labels.items() <= found.items():
                return value
        return None

    def labels(self, metric: str) -> list[tuple[dict[str, str], float]]:
        """Each set of labels whose value is not 0, and the value."""
        return [
            (labels, value) for name, labels, value in self._samples if name == metric and value
        ]


def gateway(settings: Settings) -> Iterator[Finding]:
    """Whether the gateway answers, and what it says of its models."""
    configured = settings.gateway_settings()
    url = url_of(configured.host, configured.port)
    try:
        answer = httpx.get(f"{url}/metrics", timeout=TIMEOUT_S, trust_env=False)
        scrape = Scrape(answer.text if answer.is_success else "")
    except (httpx.HTTPError, ValueError) as error:
        yield Finding("gateway", Mark.NOTE, f"{url}: {error or 'no answer'}", "hmas gateway")
        return
    if not scrape:
        yield Finding("gateway", Mark.NOTE, f"{url} is no gateway of ours", "set gateway.port")
        return
    yield Finding("gateway", Mark.OK, f"{url} answers")
    yield _lengths(scrape)
    yield _latencies(scrape)
    yield from _tasks(scrape)
    yield from _answering(scrape, configured.length_model)


def _lengths(scrape: Scrape) -> Finding:
    requests = scrape.get("prediction_window_requests", quantity="length")
    if not requests:
        return Finding("length accuracy", Mark.NOTE, "no finished request was counted yet")
    facts: dict[str, str | float] = {"requests": requests}
    parts = []
    for name, metric, form in (
        ("mae_tokens", "length_mae_tokens", "mean error {:.0f} tokens"),
        ("median_error", "prediction_error_ratio", "median error {:.0%}"),
        ("bias_tokens", "length_bias_tokens", "bias {:+.0f} tokens"),
        ("coverage", "length_coverage_ratio", "{:.1%} within the bound"),
    ):
        labels = {"quantity": "length"} if name == "median_error" else {}
        value = scrape.get(metric, **labels)
        if value is not None:
            facts[name] = value
            parts.append(form.format(value))
    said = f"newest {requests:.0f} requests: {', '.join(parts)}"
    return Finding("length accuracy", Mark.OK, said, facts=facts)


def _latencies(scrape: Scrape) -> Finding:
    facts: dict[str, str | float] = {}
    parts = []
    for quantity, name in LATENCIES.items():
        requests = scrape.get("prediction_window_requests", quantity=quantity)
        ratio = scrape.get("actual_to_predicted_ratio", quantity=quantity)
        error = scrape.get("prediction_error_ratio", quantity=quantity)
        if requests and ratio is not None and error is not None:
            facts |= {f"{quantity}_requests": requests, f"{quantity}_ratio": ratio}
            facts[f"{quantity}_median_error"] = error
            said = f"{name} {ratio:.2f} times the predicted, median error {error:.0%}"
            parts.append(f"{said} (newest {requests:.0f})")
    if not parts:
        said = "no streamed answer with a prediction yet"
        return Finding("latency accuracy", Mark.NOTE, said)
    return Finding("latency accuracy", Mark.OK, "; ".join(parts), facts=facts)


def _tasks(scrape: Scrape) -> Iterator[Finding]:
    scored = scrape.get("task_scored_total")
    right = scrape.get("task_accuracy_ratio")
    unknown = scrape.get("task_unknown_ratio")
    if scored and right is not None and unknown is not None:
        said = f"{right:.1%} as clients said, {unknown:.1%} left open ({scored:.0f} scored)"
        facts: dict[str, str | float] = {"scored": scored, "right": right, "unknown": unknown}
        yield Finding("task accuracy", Mark.OK, said, facts=facts)


def _answering(scrape: Scrape, configured: str) -> Iterator[Finding]:
    """Which length models have which role, and whether the loss drifts; nothing without one."""
    roles = scrape.labels("length_model_info")
    if not roles:
        if configured != OFF:
            said = f"the running gateway does not use {configured}: the history predicts"
            yield Finding("length models", Mark.NOTE, said, "see its log, or restart it")
        return
    parts: list[str] = []
    facts: dict[str, str | float] = {}
    for labels, workers in sorted(roles, key=lambda one: one[0]["role"]):
        role, version, data_hash = labels["role"], labels["version"], labels["data_hash"]
        loss = scrape.get("length_loss", role=role)
        does = "answers" if role == "champion" else "is in the shadow"
        measured = "" if loss is None else f", loss {loss:.3f}"
        parts.append(f"version {version} ({data_hash[:16]}) {does}{_in(workers)}{measured}")
        facts |= {f"{role}_version": version, f"{role}_data_hash": data_hash}
        if loss is not None:
            facts[f"{role}_loss"] = loss
    for labels, workers in scrape.labels("length_challenger_info"):
        parts.append(STANDINGS.get(labels["standing"], labels["standing"]) + _in(workers))
        facts["standing"] = labels["standing"]
    yield Finding("length models", Mark.OK, "; ".join(parts), facts=facts)
    yield _drift(scrape)


def _in(workers: float) -> str:
    return "" if workers <= 1 else f" in {workers:.0f} workers"


def _drift(scrape: Scrape) -> Finding:
    state = scrape.get("length_drift") or 0.0
    facts = {name: scrape.get(f"length_{name}_total") or 0.0 for name in COUNTED}
    facts["state"] = state
    counted = ", ".join(f"{name} {facts[name]:.0f}" for name in COUNTED)
    if state > 0:
        said = f"the length model's loss has risen of late ({counted})"
        return Finding("drift", Mark.NOTE, said, TRAIN, facts)
    word = "has fallen of late" if state < 0 else "is stable"
    return Finding("drift", Mark.OK, f"the length model's loss {word} ({counted})", facts=facts)

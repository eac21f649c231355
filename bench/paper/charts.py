"""The report's charts (Plotly), from the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hmas.bench.html_report import Figure
from hmas.bench.paper.evidence import Evidence, Value
from hmas.bench.paper.figures_of_run import WINDOW_S
from hmas.bench.paper.plan import ABLATED, SCALING, WINDOWS
from hmas.bench.paper.tables import FIGURE_KEYS, table_2
from hmas.bench.scenarios.catalogue import AZURE_RPS, SCENARIOS

TITLES: Final[Mapping[str, str]] = {
    "stock": "stock vLLM",
    "hmas": "H-MAS",
    "oracle": "H-MAS, true lengths",
    "sglang-fcfs": "SGLang-like FCFS",
    "sglang-hrrn": "SGLang-like HRRN",
}
PANELS: Final = ("goodput_rate", "esg_per_s", "ttft_compliance", "tpot_compliance")
RADAR: Final[Mapping[str, Value]] = {
    "Throughput": FIGURE_KEYS["throughput_rps"],
    "TTFT ok": FIGURE_KEYS["ttft_compliance"],
    "TPOT ok": FIGURE_KEYS["tpot_compliance"],
    "Goodput": FIGURE_KEYS["goodput_rps"],
    "ESG": FIGURE_KEYS["esg_per_s"],
}


def _graph() -> Any:
    """Plotly comes with the console's requirements, and only this report needs it."""
    import plotly.graph_objects

    return plotly.graph_objects


def over_load(evidence: Evidence) -> Figure:
    """Goodput rate and compliance over the rate of the Azure 2023 replays."""
    return _panels(
        evidence,
        list(AZURE_RPS),
        [str(rps) for rps in AZURE_RPS.values()],
        ("goodput_rate", "ttft_compliance", "tpot_compliance"),
        "requests/s",
    )


def scaling(evidence: Evidence) -> Figure:
    """Figure 5: the four rows of the paper."""
    loads = [name.removeprefix("scaling-") for name in SCALING]
    return _panels(evidence, SCALING, loads, PANELS, "requests/s of the fleet")


def replay_windows(evidence: Evidence) -> Figure:
    """Figure 6: the same trace for longer and longer."""
    spans = [f"{SCENARIOS[name].duration_s:g}" for name in WINDOWS]
    return _panels(evidence, WINDOWS, spans, ("goodput_rate", "goodput_rps"), "seconds of trace")


def _panels(
    evidence: Evidence,
    scenarios: Sequence[str],
    labels: Sequence[str],
    keys: Sequence[str],
    axis: str,
) -> Figure:
    from plotly.subplots import make_subplots

    graph = _graph()
    titles = [key.replace("_", " ") for key in keys]
    figure = make_subplots(rows=1, cols=len(keys), subplot_titles=titles)
    for system, title in TITLES.items():
        for column, key in enumerate(keys, start=1):
            values = [evidence.median(name, system, FIGURE_KEYS[key]) for name in scenarios]
            if any(value is not None for value in values):
                line = graph.Scatter(
                    x=list(labels), y=values, name=title, legendgroup=system,
                    showlegend=column == 1, mode="lines+markers",
                    line={"color": _colour(system)},
                )  # fmt: skip
                figure.add_trace(line, row=1, col=column)
    figure.update_xaxes(title_text=axis)
    figure.update_layout(height=380, template="plotly_white", margin={"t": 40})
    return figure


def over_time(evidence: Evidence, scenario: str) -> Figure:
    """Figure 8: goodput rate per 10 s on the first seed, with the phases marked."""
    graph = _graph()
    figure = graph.Figure()
    for system, title in TITLES.items():
        runs = evidence.runs(scenario, system)
        if runs:
            values = runs[0].goodput_windows
            times = [WINDOW_S * (at + 0.5) for at in range(len(values))]
            figure.add_trace(
                graph.Scatter(x=times, y=values, name=title, line={"color": _colour(system)})
            )
    phases = SCENARIOS[scenario].phases
    span_s = WINDOW_S * max(len(r.goodput_windows) for r in evidence.runs(scenario, "hmas"))
    for at, phase in enumerate(phases):
        x = span_s * at / len(phases)
        figure.add_vline(x=x, line_dash="dot", annotation_text=phase)
    figure.update_layout(height=360, template="plotly_white", xaxis_title="s")
    return figure


def ablation_bars(evidence: Evidence) -> Figure:
    """Table 2: goodput of each variant as a multiple of H-MAS, the paper's beside ours."""
    graph = _graph()
    figure = graph.Figure()
    for scenario in ABLATED:
        rows = table_2(evidence, scenario)
        names = [str(row["title"]) for row in rows]
        if rows and not figure.data:
            figure.add_trace(graph.Bar(x=names, y=_goodput(rows, "paper"), name="paper"))
        figure.add_trace(graph.Bar(x=names, y=_goodput(rows, "ours"), name=f"ours, {scenario}"))
    figure.update_layout(height=380, template="plotly_white", yaxis_title="goodput over H-MAS")
    return figure


def _goodput(rows: Sequence[Mapping[str, object]], of: str) -> list[object]:
    return [cells["goodput"] for row in rows if isinstance(cells := row[of], dict)]


def radar(evidence: Evidence, scenario: str) -> Figure:
    """Five metrics, each as a share of the best system's."""
    graph = _graph()
    figure = graph.Figure()
    names = [system for system in TITLES if evidence.runs(scenario, system)]
    best = {
        label: max((evidence.median(scenario, name, of) or 0.0 for name in names), default=0.0)
        for label, of in RADAR.items()
    }
    for name in names:
        shares = [
            (evidence.median(scenario, name, of) or 0.0) / (best[label] or 1.0)
            for label, of in RADAR.items()
        ]
        figure.add_trace(
            graph.Scatterpolar(
                r=[*shares, shares[0]], theta=[*RADAR, next(iter(RADAR))], name=TITLES[name],
                line={"color": _colour(name)},
            )
        )  # fmt: skip
    figure.update_layout(height=420, template="plotly_white")
    return figure


def _colour(system: str) -> str:
    colours = ("#7b8794", "#2a6fbb", "#7fb3e6", "#e0a458", "#b9770e")
    return dict(zip(TITLES, colours, strict=True))[system]

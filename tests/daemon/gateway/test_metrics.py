from __future__ import annotations

from hmas.daemon.gateway.metrics import OTHER, GatewayMetrics, LabelCap


def test_label_values_are_capped() -> None:
    cap = LabelCap(2)
    assert [cap(value) for value in ("a", "b", "c", "a", "d")] == ["a", "b", OTHER, "a", OTHER]


def test_names_and_units() -> None:
    metrics = GatewayMetrics()
    metrics.requests.labels("/v1/completions", "acme", "tiny", "200").inc()
    served = metrics.served("acme", "tiny", "engine0")
    served.ttft.observe(0.3)
    served.output_tokens.inc(5)
    assert metrics.served("acme", "tiny", "engine0") is served
    text = metrics.scrape().decode()
    for line in (
        'hmas_gateway_requests_total{code="200",model="tiny",route="/v1/completions"',
        'hmas_request_ttft_seconds_bucket{engine="engine0",le="0.5",model="tiny"} 1.0',
        'hmas_output_tokens_total{model="tiny",tenant="acme"} 5.0',
    ):
        assert line in text
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert all(name.startswith("hmas_") for name in names)

import pytest

from hmas.engine.clock import FakeClock
from hmas.engine.simulator.batching import SimulatedEngine
from hmas.engine.simulator.metrics import EngineMetrics
from tests.engine.simulator.support import profile, sim_request

prometheus = pytest.importorskip("prometheus_client.parser")


def test_names_are_vllms_and_counts_are_right():
    clock, events = FakeClock(), []
    engine = SimulatedEngine(profile(max_num_seqs=1), clock, events.append)
    metrics = EngineMetrics(engine, "small")
    engine.add(sim_request("a", 20, 1))
    engine.add(sim_request("b", 20, 5))
    for _ in range(2):
        engine.begin()
        clock.advance(0.1)
        engine.end()
    engine.add(sim_request("c", 20, 5))
    for event in events:
        metrics.observe(event)
    families = prometheus.text_string_to_metric_families(metrics.render())
    samples = {sample.name: sample for family in families for sample in family.samples}
    values = {name: sample.value for name, sample in samples.items()}
    assert values == {
        "vllm:num_requests_running": 1,
        "vllm:num_requests_waiting": 1,
        "vllm:kv_cache_usage_perc": 2 / 32,
        "vllm:num_preemptions_total": 0,
        "vllm:prompt_tokens_total": 20,
        "vllm:generation_tokens_total": 1,
        "vllm:request_success_total": 1,
    }
    assert samples["vllm:request_success_total"].labels["finished_reason"] == "completed"
    assert samples["vllm:num_requests_running"].labels["model_name"] == "small"

from __future__ import annotations

from hmas.engine.topologies import make_topology
from tests.engine.support import names, queued

SHORT = {"predicted_output_tokens": 10, "predicted_tpot_ms": 10}
LONG = {"predicted_output_tokens": 2000, "predicted_tpot_ms": 10}


def lane(request_id: str) -> str:
    return request_id.split("-", maxsplit=1)[0]


def test_the_gate_shares_admissions_between_the_lanes() -> None:
    hints = {"aging_every": 20, "gate_period": 10, "fast_share": 0.7, "split_s": 1}
    topology = make_topology("two_lane", hints)
    for index in range(100):
        topology.add(queued(f"long-{index}", **LONG), 0.0)
        topology.add(queued(f"short-{index}", **SHORT), 0.0)
    lanes = [lane(topology.pop(0.0).features.request_id) for _ in range(100)]
    # One admission in twenty is the aging one, which here takes a long request.
    assert 66 <= lanes.count("short") <= 70
    assert "long" in lanes[:10]


def test_an_empty_lane_passes_its_turn_on() -> None:
    topology = make_topology("two_lane", {"split_s": 1})
    for index in range(30):
        topology.add(queued(f"long-{index}", **LONG), 0.0)
    assert [lane(topology.pop(0.0).features.request_id) for _ in range(30)] == ["long"] * 30


def test_without_a_split_the_lanes_follow_the_mix() -> None:
    topology = make_topology("two_lane")
    for index in range(40):
        topology.add(queued(f"long-{index}", **LONG), 0.0)
        topology.add(queued(f"short-{index}", **SHORT), 0.0)
    first = [lane(topology.pop(0.0).features.request_id) for _ in range(7)]
    assert first.count("short") == 7


def test_within_a_lane_the_least_slack_goes_first() -> None:
    topology = make_topology("two_lane", {"split_s": 3600, "slack_step_s": 0})
    topology.add(queued("relaxed", slo_ttft_ms=9000), 0.0)
    topology.add(queued("urgent", slo_ttft_ms=3000), 0.0)
    assert topology.pop(0.0).features.request_id == "urgent"


def test_requests_of_about_the_same_slack_go_by_work() -> None:
    topology = make_topology("two_lane", {"split_s": 3600, "slack_step_s": 100})
    topology.add(queued("large", slo_ttft_ms=3000, prompt_tokens=4000), 0.0)
    topology.add(queued("small", slo_ttft_ms=9000), 0.0)
    topology.add(queued("relaxed", slo_ttft_ms=300_000, prompt_tokens=1), 0.0)
    assert names(topology.ordered(0.0)) == ["small", "large", "relaxed"]


def test_a_late_request_of_the_fast_lane_waits_for_the_slow_lane() -> None:
    topology = make_topology("two_lane", {"split_s": 1})
    topology.add(queued("late", slo_ttft_ms=1000, **SHORT), 0.0)
    topology.add(queued("on time", **LONG), 0.0)
    assert names(topology.ordered(2.0)) == ["on time", "late"]

from types import SimpleNamespace
from typing import Any

import pytest

from hmas.engine.vllm_compat import EngineKnobs, UnsupportedVllmError, check_version
from tests.engine.fake_vllm import FakeRequest, FakeScheduler


@pytest.mark.parametrize("version", ["0.32.0", "0.32.0+cpu", "0.33.0+cu129", "0.28.0", "0.24.0"])
def test_known_versions_run(version: str) -> None:
    assert check_version(version, {})


@pytest.mark.parametrize("version", ["0.31.0", "0.34.0", "0.32.1", "1.0", ""])
def test_others_are_refused_with_a_way_out_unless_forced(version: str) -> None:
    with pytest.raises(UnsupportedVllmError, match=r"0\.32\.0.*HMAS_VLLM_FORCE=1"):
        check_version(version, {"HMAS_VLLM_FORCE": "0"})
    assert not check_version(version, {"HMAS_VLLM_FORCE": "1"})


def test_limits_come_and_go_without_a_trace() -> None:
    scheduler = FakeScheduler()
    knobs = EngineKnobs(scheduler)
    knobs.limit(2, 64)
    assert (scheduler.max_num_active_reqs, scheduler.max_num_scheduled_tokens) == (2, 64)
    assert scheduler.max_num_running_reqs == 4
    knobs.restore()
    assert (scheduler.max_num_active_reqs, scheduler.max_num_scheduled_tokens) == (4, 256)


def test_a_stock_budget_above_the_batch_limit_is_put_back_as_it_was() -> None:
    scheduler = FakeScheduler(max_num_scheduled_tokens=512)
    knobs = EngineKnobs(scheduler)
    assert knobs.most_tokens == 256
    knobs.limit(4, 255)
    knobs.restore()
    assert scheduler.max_num_scheduled_tokens == 512


def old_scheduler(running: int) -> Any:
    """vLLM 0.24 and 0.28 have one knob, and assert that no more requests run than it says."""
    return SimpleNamespace(
        max_num_running_reqs=8,
        max_num_scheduled_tokens=256,
        scheduler_config=SimpleNamespace(max_num_batched_tokens=256),
        running=[FakeRequest(str(number)) for number in range(running)],
    )


def test_older_versions_never_get_less_than_what_runs() -> None:
    scheduler = old_scheduler(running=5)
    knobs = EngineKnobs(scheduler)
    knobs.limit(2, 256)
    assert scheduler.max_num_running_reqs == 5
    del scheduler.running[1:]
    knobs.limit(2, 256)
    assert scheduler.max_num_running_reqs == 2
    knobs.restore()
    assert scheduler.max_num_running_reqs == 8

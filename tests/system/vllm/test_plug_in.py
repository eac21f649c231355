"""The plug-in inside a real vLLM environment: imports, construction, entry point."""

import pytest

from tests.system.vllm.environment import run_program

pytestmark = pytest.mark.vllm


def test_the_engine_room_imports_in_a_bare_vllm_environment() -> None:
    result = run_program("tests/system/vllm/imports_program.py")
    assert result["imported"] > 15
    assert result["heavy"] == [], "the engine room drags in more than msgspec and zmq"
    assert result["missing"] == [], "vLLM's queue has a method that ours lacks"


def test_the_factory_picks_the_class_and_refuses_what_it_does_not_know() -> None:
    result = run_program("tests/system/vllm/scheduler_program.py")
    assert result["sync"]
    assert result["async"]
    assert result["queue"] == "FCFSRequestQueue"
    assert "HMAS_VLLM_FORCE=1" in result["refusal"]
    assert result["bare"]
    assert result["untouched"] == "vllm.config.scheduler"
    assert result["entry_point_off"] == "Scheduler"
    assert result["entry_point_on"] == "PolymorphicScheduler"

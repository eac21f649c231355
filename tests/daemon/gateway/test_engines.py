from __future__ import annotations

import json
from collections import Counter

import msgspec
import pytest

from hmas.daemon.gateway.engines import (
    LAST_BACKOFF_S,
    TRIAL_INTERVAL_S,
    Engine,
    EnginePool,
    Unavailable,
)
from hmas.daemon.gateway.limits import CountTable
from hmas.daemon.gateway.settings import EngineTarget


def pool(*targets: dict[str, object]) -> EnginePool:
    counts = CountTable(len(targets))
    return EnginePool(
        Engine(EngineTarget.model_validate({"engine_id": f"e{n}"} | target), counts, n)
        for n, target in enumerate(targets)
    )


def test_the_least_loaded_engine_is_chosen_and_equals_take_turns() -> None:
    engines = pool({}, {}, {})
    chosen = Counter(engines.choose("m", 0.0) for _ in range(30))
    assert set(chosen.values()) == {10}
    engines.engines[0].take()
    engines.engines[2].take()
    assert {engines.choose("m", 0.0) for _ in range(5)} == {engines.engines[1]}
    engines.engines[1].take()
    engines.engines[1].take()
    engines.engines[0].release()
    assert engines.choose("m", 0.0) is engines.engines[0]


def test_the_choice_is_foreseen_without_taking_the_turn() -> None:
    engines = pool({"models": ["a", "b"]}, {"models": ["a"]}, {"models": ["a"]})
    for _ in range(7):
        foreseen = engines.foreseen("a", 0.0)
        assert foreseen is engines.foreseen("a", 0.0)
        assert foreseen is engines.choose("a", 0.0)
    engines.engines[0].unreachable(0.0, 0.0)
    assert engines.foreseen("b", 0.1) is engines.engines[0], "it may come back"
    assert engines.foreseen("c", 0.1) is None
    assert pool({}).foreseen(None, 0.0) is not None


def test_only_engines_that_serve_the_model() -> None:
    engines = pool({"models": ["a"]}, {"models": ["b"]})
    assert engines.choose("b", 0.0) is engines.engines[1]
    assert engines.choose("c", 0.0) is Unavailable.DOWN
    assert engines.choose(None, 0.0) in engines.engines
    assert engines.known_models() == ["a", "b"]
    assert not engines.serves("c")
    assert pool({}).serves("anything"), "an engine whose models are not known yet"


def test_a_failed_engine_is_left_alone_then_tried_once_more() -> None:
    engines = pool({}, {})
    bad, good = engines.engines
    bad.unreachable(10.0, 10.0)
    assert {engines.choose("m", 10.5) for _ in range(4)} == {good}
    late = 10.0 + TRIAL_INTERVAL_S
    assert {engines.choose("m", late) for _ in range(4)} == {good}, "the one known to be up"
    assert engines.choose("m", late, tried={good}) is bad
    bad.succeeded(10.4)
    assert engines.choose("m", 10.5, tried={good}) is bad


def test_reasons_most_hopeful_first() -> None:
    engines = pool({"max_in_flight": 1}, {}, {})
    full, busy, down = engines.engines
    full.take()
    down.unreachable(0.0, 0.0)
    busy.refused(0.0)
    assert engines.choose("m", 0.01) is Unavailable.BUSY
    assert engines.choose("m", 0.01, tried={busy}) is Unavailable.FULL
    assert engines.choose("m", 0.01, tried={busy, full}) is Unavailable.DOWN
    assert 0 < engines.next_free_s("m", 0.01) <= 0.05


def test_refusals_are_answered_by_growing_pauses() -> None:
    engine = pool({}).engines[0]
    pauses = []
    for _ in range(8):
        engine.refused(0.0)
        pauses.append(engine.busy_until_s)
    assert pauses == sorted(pauses)
    assert pauses[-1] == LAST_BACKOFF_S
    engine.succeeded(1.0)
    engine.refused(0.0)
    assert engine.busy_until_s == pauses[0]


def test_urls_keep_path_and_query_as_they_came() -> None:
    engine = pool({"url": "http://h:1/v1"}).engines[0]
    assert str(engine.url("/v1/models/a%2Fb?x=%20y")) == "http://h:1/v1/models/a%2Fb?x=%20y"


def test_model_cards() -> None:
    engines = pool({"models": ["a", "b"]})
    engines.engines[0].model_cards = {"a": msgspec.Raw(b'{"id":"a","max_model_len":9}')}
    listed = json.loads(engines.model_list())
    assert listed["data"][0] == {"id": "a", "max_model_len": 9}
    assert listed["data"][1]["owned_by"] == "hmas"
    assert engines.model_card("zzz") is None


def test_a_pool_is_down_when_all_engines_are() -> None:
    engines = pool({}, {})
    assert engines.any_up()
    for engine in engines.engines:
        engine.unreachable(0.0, 0.0)
    assert not engines.any_up()


@pytest.mark.parametrize(("key", "header"), [(None, None), ("secret-1", "Bearer secret-1")])
def test_the_engines_own_key(key: str | None, header: str | None) -> None:
    assert pool({"api_key": key}).engines[0].authorization == header


def test_an_answer_outweighs_a_connection_or_check_that_failed_meanwhile() -> None:
    engine = pool({}).engines[0]
    engine.succeeded(11.0)
    engine.unreachable(10.0, 12.0)
    engine.suspected(10.0)
    assert engine.is_up
    engine.unreachable(11.5, 12.0)
    assert not engine.is_up


def test_a_suspected_engine_goes_last_but_is_never_refused() -> None:
    engines = pool({}, {})
    suspect, healthy = engines.engines
    suspect.suspected(5.0)
    assert {engines.choose("m", 5.0) for _ in range(4)} == {healthy}
    assert engines.choose("m", 5.0, tried={healthy}) is suspect

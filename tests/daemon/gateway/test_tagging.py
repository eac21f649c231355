from __future__ import annotations

import json

import pytest

from hmas.controllers.perception.chain import Perception
from hmas.controllers.prediction.history import HistoryPredictor
from hmas.daemon.gateway.body import Route, parse_body
from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.errors import ApiError
from hmas.daemon.gateway.keys import KeyRing
from hmas.daemon.gateway.settings import Tier
from hmas.daemon.gateway.tagging import FeatureInjector, Tagger
from hmas.engine.features import RequestFeatures, TaskType, decode_features

CLIENT = KeyRing([], Tier(tenant="acme", priority=2)).identify({})
RAW = b'{"model":"m","prompt":"Translate to German: hello","input":"x","max_tokens":9}'


def tag(route: Route, headers: dict[str, str]) -> tuple[Call, RequestFeatures | None]:
    call = Call("r1", "POST", route.value, 12.0)
    tagger = Tagger(Perception(HistoryPredictor()))
    return call, tagger.tag(call, CLIENT, headers, parse_body(route, RAW))


def test_a_generation_request_gets_features() -> None:
    call, features = tag(Route.COMPLETIONS, {"x-slo-tpot-ms": "33"})
    assert features is not None
    assert features is call.features
    assert (features.request_id, features.arrival_s, features.tenant) == ("r1", 12.0, "acme")
    assert features.task_type is TaskType.TRANSLATION
    assert (features.slo_tpot_ms, features.predicted_output_tokens) == (33, 9)
    assert 0 < call.tagging_s < 5
    assert call.prompt_bytes == len("Translate to German: hello")


def test_embeddings_are_not_scheduled_token_by_token() -> None:
    assert tag(Route.EMBEDDINGS, {})[1] is None


def test_a_header_out_of_range_is_the_clients_error() -> None:
    with pytest.raises(ApiError) as raised:
        tag(Route.COMPLETIONS, {"x-vllm-priority": "urgent"})
    assert (raised.value.status, raised.value.param) == (400, "x-vllm-priority")


def test_each_kind_of_engine_gets_its_body() -> None:
    _, features = tag(Route.COMPLETIONS, {})
    injector = FeatureInjector(parse_body(Route.COMPLETIONS, RAW), features)
    plain = injector.body(accepts_features=False, priority_scheduling=True)
    assert plain == RAW
    ours = injector.body(accepts_features=True, priority_scheduling=False)
    assert decode_features(json.loads(ours)["vllm_xargs"]["hmas"]) == features
    assert "priority" not in json.loads(ours)
    ranked = injector.body(accepts_features=True, priority_scheduling=True)
    assert json.loads(ranked)["priority"] == -2
    assert injector.body(accepts_features=True, priority_scheduling=True) is ranked

"""Overrides over HTTP: made, checked, removed, audited."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hmas.daemon.wire import FleetStatus, OverrideChange, OverrideList
from hmas.engine.clock import FakeClock

PIN = {"topology": "edf", "reason": "deadline misses", "duration_s": 600}
VIEWER = {"Authorization": "Bearer viewer-token-0123456789"}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "pins"),
        ("POST", "controls"),
        ("POST", "bypass"),
        ("DELETE", "pins/pin-1"),
        ("DELETE", "controls/controls-1"),
        ("DELETE", "bypass/bypass-1"),
    ],
)
def test_a_viewer_may_only_look(app: FastAPI, method: str, path: str) -> None:
    client = TestClient(app, headers=VIEWER)
    assert client.get("/hmas/v1/status").status_code == 200
    body = {"reason": "because", "topology": "edf", "n_run": 3} if method == "POST" else None
    response = client.request(method, f"/hmas/v1/{path}", json=body)
    assert response.status_code == 403
    assert "vic may only look" in response.json()["error"]["message"]


def test_a_pin_holds_shows_its_owner_and_ends(api: TestClient, clock: FakeClock) -> None:
    change = OverrideChange.model_validate_json(api.post("/hmas/v1/pins", json=PIN).content)
    assert change.override.owner == "ada"
    clock.advance(2)
    fleet = FleetStatus.model_validate_json(api.get("/hmas/v1/status").content)
    assert {engine.topology for engine in fleet.engines} == {"edf"}
    assert {engine.owner for engine in fleet.engines} == {"pin"}
    clock.advance(600)
    held = OverrideList.model_validate_json(api.get("/hmas/v1/overrides").content)
    assert held.overrides == ()
    assert held.revision > change.revision


def test_every_override_can_be_made_and_removed(api: TestClient) -> None:
    bodies = {
        "pins": PIN,
        "controls": {"n_run": 32, "reason": "because"},
        "bypass": {"reason": "incident", "engine_id": "demo-0"},
    }
    for route, body in bodies.items():
        made = api.post(f"/hmas/v1/{route}", json=body).json()["override"]
        removed = api.delete(f"/hmas/v1/{route}/{made['id']}")
        assert removed.status_code == 200
        assert api.delete(f"/hmas/v1/{route}/{made['id']}").status_code == 404
    actors = {row["actor"] for row in api.get("/hmas/v1/audit").json()}
    assert actors == {"ada"}


def test_an_override_of_another_kind_is_not_removed_by_mistake(api: TestClient) -> None:
    made = api.post("/hmas/v1/pins", json=PIN).json()["override"]
    assert api.delete(f"/hmas/v1/bypass/{made['id']}").status_code == 404


@pytest.mark.parametrize("way", ["header", "body"])
def test_a_write_on_an_old_revision_is_refused(api: TestClient, way: str) -> None:
    etag = api.get("/hmas/v1/overrides").headers["etag"]
    api.post("/hmas/v1/pins", json=PIN)
    revision = int(etag.strip('"'))
    body = PIN | ({"expected_revision": revision} if way == "body" else {})
    headers = {"If-Match": etag} if way == "header" else {}
    refused = api.post("/hmas/v1/pins", json=body, headers=headers)
    assert refused.status_code == 409
    assert "revision 1, not 0" in refused.json()["error"]["message"]
    assert api.post("/hmas/v1/pins", json=PIN, headers={"If-Match": '"1"'}).status_code == 200


def test_two_different_revisions_are_refused(api: TestClient) -> None:
    response = api.post(
        "/hmas/v1/pins", json=PIN | {"expected_revision": 0}, headers={"If-Match": '"3"'}
    )
    assert response.status_code == 422
    assert api.delete("/hmas/v1/pins/x", headers={"If-Match": "soon"}).status_code == 422


@pytest.mark.parametrize(
    ("body", "field", "fix"),
    [
        ({"topology": "edff"}, "topology", "edf"),
        ({"hints": {"speed": 1}}, "hints.speed", "aging_every"),
        ({"hints": {"aging_every": 1}}, "hints.aging_every", "between 2 and 1000"),
        ({"engine_id": "nobody"}, "engine_id", "demo-0"),
        ({"reason": ""}, "reason", "write a little more"),
        ({"topolgy": "edf"}, "topolgy", "remove this field"),
        ({"duration_s": None, "expires_at_s": 5}, "expires_at_s", "duration_s"),
    ],
)
def test_a_bad_pin_names_the_field_and_the_fix(
    api: TestClient, body: dict[str, object], field: str, fix: str
) -> None:
    response = api.post("/hmas/v1/pins", json=PIN | body)
    assert response.status_code in {404, 422}
    problem = response.json()["error"]["problems"][0]
    assert problem["field"] == field
    assert fix in problem["fix"]


def test_controls_stay_within_what_the_engine_was_started_with(api: TestClient) -> None:
    response = api.post("/hmas/v1/controls", json={"n_run": 9999, "reason": "because"})
    assert response.status_code == 422
    assert response.json()["error"]["problems"][0]["field"] == "n_run"
    assert "at most 256" in response.json()["error"]["message"]

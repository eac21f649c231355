"""The whole loop on a real vLLM: gateway, plug-in, daemon, command line, LLM meta-controller.

One story in one test: starting a real vLLM takes minutes on a small machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hmas.bench.vllm_server import VllmServer, vllm_server
from hmas.engine.topologies import topology_names
from tests.system.vllm.load import Load, answers, prompts
from tests.system.vllm.stack import LEASE_S, ControlPlane, describe, eventually

pytestmark = pytest.mark.vllm

CLIENTS = 300
META_TIMEOUT_S = 180.0
PINNED = ("fcfs", "edf", "sjf", "two_lane", "wfq", "srtf", "on_time")
"""One of each kind; the fuzz run switches through all."""
DENSE_JSON = (
    "--structured-outputs-config",
    '{"backend": "xgrammar", "disable_any_whitespace": true}',
)
"""A random model would fill its answer with white space where the grammar allows any."""


@pytest.fixture(scope="module")
def bodies() -> list[dict[str, Any]]:
    return prompts(120)


@pytest.fixture(scope="module")
def expected(
    bodies: list[dict[str, Any]], tiny_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[list[int]]:
    """What stock vLLM answers."""
    with vllm_server(tiny_model, tmp_path_factory.mktemp("stock"), scheduler=None) as stock:
        told = answers(stock.url, bodies)
    for body, tokens in zip(bodies, told, strict=True):
        assert len(tokens) == body["max_tokens"]
    return told


@pytest.fixture(scope="module")
def server(
    expected: list[list[int]], tiny_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[VllmServer]:
    directory = tmp_path_factory.mktemp("vllm")
    with vllm_server(tiny_model, directory, max_num_seqs=32, arguments=DENSE_JSON) as running:
        yield running


@pytest.fixture(scope="module")
def plane(server: VllmServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    running = ControlPlane(server, tmp_path_factory.mktemp("plane"))
    try:
        running.start()
        yield running
    finally:
        running.close()


def pin(plane: ControlPlane, topology: str) -> int:
    """Pin it on the command line; the version with which the engine itself says it runs it."""
    plane.hmas("pin", topology, "--reason", "end-to-end test", "--wait", "30")

    def runs_it() -> int | None:
        told = describe(plane.server)
        active = told.active
        is_run = active and active.topology == topology and not told.lease_expired
        return active.version if active and is_run else None

    return eventually(f"the engine runs {topology}", runs_it, 30)


def acknowledged(plane: ControlPlane, version: int) -> dict[str, Any]:
    """Status of the engine, once the daemon has its ACK for ``version`` or a newer directive.

    Not for the newest one: on a slow machine the next is on its way before that is answered.
    """

    def look() -> dict[str, Any] | None:
        engine: dict[str, Any] = plane.hmas("status")["engines"][0]
        assert engine["directive"]["ack"] != "nack", engine["directive"]["reason"]
        return engine if (engine["directive"]["active_version"] or 0) >= version else None

    return eventually("the engine acknowledges", look, 60)


def test_real_vllm_under_load_is_steered_without_losing_or_changing_an_answer(
    plane: ControlPlane, bodies: list[dict[str, Any]], expected: list[list[int]]
) -> None:
    load = Load(plane.gateway_url, bodies, expected, CLIENTS)
    load.start()
    try:
        _switch_through_all(plane, load)
        _survive_a_killed_daemon(plane, load)
        assert not load.wrong, load.wrong
    finally:
        load.stop()
        print(f"wrong answers: {dict(load.wrong)}")
    assert load.most_in_flight >= CLIENTS
    assert load.completed >= CLIENTS
    assert not load.wrong, load.wrong
    told = describe(plane.server)
    assert told.doubt == ""
    print(
        f"{load.completed} streamed requests, {load.most_in_flight} at once, none lost or changed"
    )


def _switch_through_all(plane: ControlPlane, load: Load) -> None:
    versions = []
    for topology in PINNED:
        before = load.completed
        versions.append(pin(plane, topology))
        status = acknowledged(plane, versions[-1])
        assert status["topology"] == topology
        assert status["owner"] == "pin"
        eventually("requests go on", lambda floor=before: load.completed > floor + 10, 60)
    assert versions == sorted(set(versions)), "every switch was a newer directive"


def _survive_a_killed_daemon(plane: ControlPlane, load: Load) -> None:
    pin(plane, "sjf")
    before = describe(plane.server).active
    assert before is not None
    eventually("the lease is renewed", lambda: not describe(plane.server).lease_expired, 60)
    plane.kill("daemon")
    assert not describe(plane.server).lease_expired, "the last directive holds for its lease"
    eventually("the lease runs out", lambda: describe(plane.server).lease_expired, LEASE_S + 10)
    completed = load.completed
    eventually("requests flow without a daemon", lambda: load.completed > completed + 10, 60)
    plane.start_program("daemon")

    def resumed() -> bool:
        told = describe(plane.server)
        return bool(told.active and told.active.topology == "sjf" and not told.lease_expired)

    eventually("the pin is resumed", resumed, 60)
    eventually(
        "with a higher version",
        lambda: (active := describe(plane.server).active) and active.version > before.version,
        30,
    )


def test_the_same_vllm_is_the_meta_controllers_llm(
    plane: ControlPlane, bodies: list[dict[str, Any]], expected: list[list[int]]
) -> None:
    pinned = [one for one in plane.hmas("status")["overrides"] if one["kind"] == "pin"]
    if pinned:
        plane.hmas("unpin")
    load = Load(plane.gateway_url, bodies, expected, clients=8)
    load.start()
    try:
        decision = eventually(
            "a decision of the LLM is applied", lambda: _applied(plane), META_TIMEOUT_S
        )
    finally:
        load.stop()
    assert decision["topology"] in topology_names()
    assert not load.wrong, load.wrong


def _applied(plane: ControlPlane) -> dict[str, Any] | None:
    """A switch that the LLM chose and that the engine itself names as its reason."""
    time.sleep(1)
    active = describe(plane.server).active
    for decision in plane.hmas("decisions", "--limit", "50"):
        is_switch = decision["source"] == "llm" and decision["before"] != decision["topology"]
        if is_switch and active and active.cause == decision["id"]:
            assert active.topology == decision["topology"]
            assert decision["applied"]
            found: dict[str, Any] = decision
            return found
    return None

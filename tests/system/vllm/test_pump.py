"""A real vLLM without the plug-in, steered by the gateway's pump."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hmas.bench.vllm_server import VllmServer, vllm_server
from hmas.engine.topologies import topology_names
from tests.system.vllm.load import Load, answers, prompts
from tests.system.vllm.stack import LEASE_S, ControlPlane, describe, eventually

pytestmark = pytest.mark.vllm

CLIENTS = 120
MAX_RUNNING = 16
N_RUN = 6


@pytest.fixture(scope="module")
def server(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    directory = tmp_path_factory.mktemp("stock")
    with vllm_server(tiny_model, directory, scheduler=None, max_num_seqs=32) as running:
        yield running


@pytest.fixture(scope="module")
def plane(server: VllmServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    pump = {"pump": True, "pump_max_running": MAX_RUNNING, "pump_kv_tokens": 512 * 32}
    running = ControlPlane(server, tmp_path_factory.mktemp("plane"), pump)
    try:
        running.start()
        yield running
    finally:
        running.close()


@pytest.fixture(scope="module")
def bodies() -> list[dict[str, Any]]:
    return prompts(60)


@pytest.fixture(scope="module")
def expected(server: VllmServer, bodies: list[dict[str, Any]]) -> list[list[int]]:
    """What this vLLM answers when it is asked directly."""
    return answers(server.url, bodies)


def test_a_pump_steers_a_stock_vllm_without_losing_or_changing_an_answer(
    plane: ControlPlane, bodies: list[dict[str, Any]], expected: list[list[int]]
) -> None:
    told = eventually("the daemon steers the pump", lambda: describe(plane.server).active, 30)
    assert told.engine_id == plane.server.engine_id
    assert describe(plane.server).kind == "pump"
    load = Load(plane.gateway_url, bodies, expected, CLIENTS)
    load.start()
    try:
        for topology in topology_names()[1::3]:
            _pin(plane, load, topology)
        _bound(plane)
        _survive_a_killed_daemon(plane, load)
    finally:
        load.stop()
        print(f"wrong answers: {dict(load.wrong)}")
    assert not load.wrong, load.wrong
    assert load.most_in_flight >= CLIENTS
    assert load.completed >= CLIENTS
    assert describe(plane.server).doubt == ""
    scrape = httpx.get(f"{plane.gateway_url}/metrics").text
    faults = f'hmas_gateway_pump_faults_total{{engine="{plane.server.engine_id}"}} 0.0'
    assert faults in scrape
    print(
        f"{load.completed} streamed requests, {load.most_in_flight} at once, none lost or changed"
    )


def _pin(plane: ControlPlane, load: Load, topology: str) -> None:
    """The pump itself must say that it runs it, and requests go on."""
    before = load.completed
    plane.hmas("pin", topology, "--reason", "pump test", "--wait", "30")

    def runs_it() -> bool:
        active = describe(plane.server).active
        return bool(active and active.topology == topology)

    eventually(f"the pump runs {topology}", runs_it, 30)
    eventually("requests go on", lambda: load.completed > before + 10, 120)


def _bound(plane: ControlPlane) -> None:
    """An operator's N_run is what runs in the engine; the others wait in the gateway."""
    plane.hmas("set", "--n-run", str(N_RUN), "--reason", "pump test")

    def bounded() -> bool:
        status = plane.hmas("status")["engines"][0]["v_short"]
        return bool(status and status["running"] == N_RUN and status["queue_length"] > 0)

    eventually("N_run requests run", bounded, 120)
    plane.hmas("set", "--n-run", str(MAX_RUNNING), "--reason", "pump test")


def _survive_a_killed_daemon(plane: ControlPlane, load: Load) -> None:
    plane.kill("daemon")
    eventually("the lease runs out", lambda: describe(plane.server).lease_expired, LEASE_S + 10)
    completed = load.completed
    eventually("requests flow without a daemon", lambda: load.completed > completed + 10, 120)
    plane.start_program("daemon")

    def resumed() -> bool:
        told = describe(plane.server)
        return bool(told.active and not told.lease_expired)

    eventually("the daemon steers again", resumed, 60)

"""What ``hmas doctor`` reads from a gateway's ``/metrics``."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pytest

from hmas.controllers.perception.accuracy import TaskScores
from hmas.controllers.prediction.base import Prediction
from hmas.controllers.prediction.length import LengthPredictor
from hmas.daemon.cli.findings import Finding, Mark
from hmas.daemon.cli.live_models import gateway
from hmas.daemon.gateway.call import Call
from hmas.daemon.gateway.learning import Learning
from hmas.daemon.gateway.metrics import GatewayMetrics
from hmas.daemon.settings import Settings
from hmas.engine.features import TaskType
from tests.controllers.prediction.length_support import ask, finished, off_model, small_model
from tests.controllers.prediction.test_length_duel import run

Serve = Callable[[bytes, int], int]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """``serve(text, status)``: the port of a server that answers any GET with that."""
    servers: list[ThreadingHTTPServer] = []

    def begin(text: bytes, status: int = 200) -> int:
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server.server_address[1]

    yield begin
    for server in servers:
        server.shutdown()
        server.server_close()


def found(port: int, **gateway_settings: str) -> dict[str, Finding]:
    settings = Settings.model_validate(
        {"runtime_dir": "/r", "state_dir": "/s", "gateway": {"port": port, **gateway_settings}}
    )
    return {finding.check: finding for finding in gateway(settings)}


def busy(challenger_is_better: bool) -> bytes:
    """A gateway's metrics after some traffic."""
    metrics, tasks = GatewayMetrics(), TaskScores()
    bad, good = off_model(1.0), small_model()
    pair = (bad, good) if challenger_is_better else (good, bad)
    lengths = LengthPredictor(pair[0], challenger=pair[1])
    learning = Learning(metrics, lengths, tasks)
    run(lengths, 1000)
    tasks.add(TaskType.QA, TaskType.QA)
    call = Call("r", "POST", "/v1/completions", 0.0)
    call.streamed = True
    call.prediction = Prediction(150, ttft_ms=100.0, tpot_ms=20.0, upper_tokens=150)
    learning.scores.observe(call, finished(ask(), 100), counted=True)
    learning.sync()
    return metrics.scrape()


def test_no_gateway_is_a_note_with_the_command(serve: Serve) -> None:
    port = serve(b"", 200)
    [row] = found(port).values()
    assert (row.mark, row.fix) == (Mark.NOTE, "set gateway.port")
    [row] = found(serve(b"vllm:num_requests_running 1.0\n", 200)).values()
    assert row.detail.endswith("is no gateway of ours")
    [row] = found(1).values()
    assert (row.mark, row.fix) == (Mark.NOTE, "hmas gateway")


@pytest.mark.parametrize("text", [b"hmas_gateway_broken{ 1", b"\xff\xfe\x00", b"{}"])
def test_what_is_no_exposition_is_no_crash(text: bytes, serve: Serve) -> None:
    assert found(serve(text, 200))["gateway"].mark is Mark.NOTE


def test_an_idle_gateway_has_nothing_to_say_yet(serve: Serve) -> None:
    rows = found(serve(GatewayMetrics().scrape() + b"hmas_gateway_shed_total 0.0\n", 200))
    assert rows["gateway"].mark is Mark.OK
    assert rows["length accuracy"].mark is Mark.NOTE
    assert rows["latency accuracy"].mark is Mark.NOTE
    assert set(rows) == {"gateway", "length accuracy", "latency accuracy"}


def test_a_gateway_that_runs_without_the_configured_model_is_a_note(serve: Serve) -> None:
    port = serve(GatewayMetrics().scrape() + b"hmas_gateway_shed_total 0.0\n", 200)
    row = found(port, length_model="shipped")["length models"]
    assert row.mark is Mark.NOTE
    assert "does not use shipped" in row.detail


def test_accuracy_of_lengths_latencies_and_tasks(serve: Serve) -> None:
    rows = found(serve(busy(challenger_is_better=False), 200))
    assert rows["length accuracy"].detail == (
        "newest 1 requests: mean error 50 tokens, median error 50%, bias +50 tokens,"
        " 100.0% within the bound"
    )
    assert rows["length accuracy"].facts["coverage"] == 1.0
    assert rows["latency accuracy"].detail == (
        "TTFT 2.00 times the predicted, median error 50% (newest 1);"
        " TPOT 1.00 times the predicted, median error 0% (newest 1)"
    )
    assert rows["task accuracy"].detail.startswith("100.0% as clients said")
    assert all(msgspec.json.encode(dict(row.facts)) for row in rows.values())


@pytest.mark.parametrize(("better", "answers"), [(True, "1"), (False, "1")])
def test_who_answers_and_how_the_duel_stands(better: bool, answers: str, serve: Serve) -> None:
    rows = found(serve(busy(challenger_is_better=better), 200))
    models = rows["length models"]
    assert models.facts["champion_version"] == answers, "the good one answers, in either case"
    assert models.facts["shadow_version"] == "off"
    assert models.facts["standing"] == ("promoted" if better else "shadow")
    assert models.facts["champion_loss"] < models.facts["shadow_loss"]  # type: ignore[operator]
    assert "is in the shadow, loss " in models.detail
    assert rows["drift"].facts["promotions"] == better
    assert rows["drift"].mark is Mark.OK


def test_a_rise_of_the_loss_is_a_note(serve: Serve) -> None:
    text = busy(challenger_is_better=False).replace(
        b"hmas_gateway_length_drift 0.0", b"hmas_gateway_length_drift 1.0"
    )
    row = found(serve(text, 200))["drift"]
    assert row.mark is Mark.NOTE
    assert "hmas train length" in row.fix


def test_workers_are_counted(serve: Serve) -> None:
    """Several workers' info gauges are sums."""
    lines = busy(challenger_is_better=False).decode().splitlines()
    text = "\n".join(re.sub(r"(_info\{.*) 1\.0$", r"\1 3.0", line) for line in lines)
    assert "in 3 workers" in found(serve(text.encode() + b"\n", 200))["length models"].detail

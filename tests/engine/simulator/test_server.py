import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zmq

from hmas.engine.directive import Describe, DirectiveReply, EngineDescription
from hmas.engine.link.config import LinkConfig
from hmas.engine.simulator.server import main, options_of, parser
from hmas.engine.wire import decode_reply, encode
from tests.engine.simulator.support import directive


@contextmanager
def process(*arguments: str, runtime_dir: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The server as users start it, and the line that it prints when it is ready."""
    command = [sys.executable, "-m", "hmas.engine.simulator.server", *arguments]
    environment = {**os.environ, "HMAS_RUNTIME_DIR": str(runtime_dir)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as started:
        try:
            yield started, started.stdout.readline()
        finally:
            started.terminate()


@pytest.fixture
def runtime_dir():
    with tempfile.TemporaryDirectory(prefix="hmas") as directory:
        Path(directory).chmod(0o700)
        yield Path(directory)


def ask(directory: Path, engine_id: str, *requests):
    link = LinkConfig.local(engine_id, directory)
    with zmq.Context() as context, context.socket(zmq.REQ) as control:
        control.rcvtimeo, control.linger = 5000, 0
        control.connect(link.control_endpoint)
        replies = []
        for request in requests:
            control.send(encode(request))
            replies.append(decode_reply(control.recv()))
    return replies


def test_serves_takes_directives_and_stops_on_sigterm(runtime_dir):
    with process("cpu-tiny", "--port", "0", runtime_dir=runtime_dir) as (started, line):
        assert "simulating cpu-tiny (H-MAS scheduling)" in line
        url = line.split()[-1]
        with urllib.request.urlopen(f"{url}/health") as answer:
            assert answer.status == 200
        description, reply = ask(runtime_dir, "engine0", Describe(), directive(1, "edf"))
        assert isinstance(description, EngineDescription)
        assert (description.kind, description.model) == ("simulator", "tiny-random-llama")
        assert isinstance(reply, DirectiveReply)
        assert (reply.accepted, reply.topology, reply.boot_id) == (
            True, "edf", description.boot_id,
        )  # fmt: skip
        started.send_signal(signal.SIGTERM)
        assert started.wait(10) == 0


def test_stock_engine_answers_under_its_own_id(runtime_dir):
    arguments = ("cpu-tiny", "--port", "0", "--stock", "--engine-id", "plain")
    with process(*arguments, runtime_dir=runtime_dir) as (_, line):
        assert "stock vLLM scheduling" in line
        description, *_ = ask(runtime_dir, "plain", Describe())
        assert isinstance(description, EngineDescription)
        assert description.topologies == ["fcfs"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-profile"], "cpu-tiny"),
        (["cpu-tiny", "--host", "0.0.0.0", "--no-link"], "--api-key"),
        (["cpu-tiny", "--speed", "0", "--no-link"], "speed"),
        (["cpu-tiny", "--engine-id", "../up"], "HMAS_ENGINE_ID"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(arguments, message, capsys, monkeypatch):
    monkeypatch.delenv("HMAS_ENGINE_API_KEY", raising=False)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_taken_port_is_exit_1(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["cpu-tiny", "--no-link", "--port", str(port)]) == 1
    assert str(port) in capsys.readouterr().err


def test_key_comes_from_the_environment_unless_given(monkeypatch):
    monkeypatch.setenv("HMAS_ENGINE_API_KEY", "from-environment")
    read = parser().parse_args
    assert options_of(read(["cpu-tiny", "--no-link"])).api_key == "from-environment"
    assert options_of(read(["cpu-tiny", "--no-link", "--api-key", "k"])).api_key == "k"

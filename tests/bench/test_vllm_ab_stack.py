import subprocess
import sys

import pytest

from hmas.bench.vllm_ab_stack import StackError, control_stack
from hmas.bench.vllm_server import VllmServer, free_port


def test_gateway_and_daemon_come_up_before_the_engine_answers_or_say_why(tmp_path):
    """No engine is there, so the gateway is up but never ready; it is told to stop and stops."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    server = VllmServer(
        f"http://127.0.0.1:{free_port()}", "engine0", tmp_path / "run", tmp_path / "log", process
    )
    with (
        pytest.raises(StackError, match="no answer from http"),
        control_stack(server, tmp_path, cpus=(0,), timeout_s=4.0),
    ):
        pytest.fail("must not be reached")
    assert (tmp_path / "daemon.log").exists()
    assert (tmp_path / "gateway.log").exists()

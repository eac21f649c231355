from pathlib import Path

import pytest

from hmas.bench.random_model import CPU_LLAMA, write_model
from hmas.bench.vllm_server import (
    PYTHON_VARIABLE,
    VllmError,
    free_port,
    vllm_environ,
    vllm_python,
    vllm_server,
)


def test_the_interpreter_is_the_one_that_the_environment_names(monkeypatch, tmp_path):
    python = tmp_path / "python"
    python.touch()
    monkeypatch.setenv(PYTHON_VARIABLE, str(python))
    assert vllm_python() == python


def test_a_missing_interpreter_says_how_to_get_one(monkeypatch, tmp_path):
    monkeypatch.setenv(PYTHON_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(VllmError, match="make setup-vllm"):
        vllm_python()


def test_vllm_inherits_no_settings_of_ours(monkeypatch):
    monkeypatch.setenv("HMAS_RUNTIME_DIR", "/elsewhere")
    environ = vllm_environ(HMAS_ENGINE_ID="engine7")
    assert "HMAS_RUNTIME_DIR" not in environ
    assert environ["HMAS_ENGINE_ID"] == "engine7"
    assert environ["OMP_NUM_THREADS"] == "1"


def test_ports_are_usable():
    assert 1024 < free_port() < 65_536


def test_a_server_that_exits_is_reported_with_its_log(monkeypatch, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho no such model: $4\nexit 3\n")
    python.chmod(0o755)
    monkeypatch.setenv(PYTHON_VARIABLE, str(python))
    with (
        pytest.raises(VllmError, match="no such model: /models/none"),
        vllm_server(Path("/models/none"), tmp_path / "run", cpus=(0,)),
    ):
        pytest.fail("must not be reached")


@pytest.mark.vllm
def test_stock_vllm_serves_a_random_model_on_one_core(tmp_path):
    flags = ("--dtype", "float32", "--enforce-eager", "--load-format", "dummy")
    model = write_model(tmp_path / "model", {**CPU_LLAMA, "num_hidden_layers": 1})
    with vllm_server(
        model,
        tmp_path / "run",
        scheduler=None,
        flags=(*flags, "--max-model-len", "2048"),
        cpus=(0,),
    ) as server:
        assert server.process.poll() is None

"""A tiny model and real vLLM servers, with and without the plug-in, for the tests in here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hmas.bench.vllm_server import VllmServer, vllm_server
from tests.system.vllm.server import make_model


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("tiny-model"))


@pytest.fixture(scope="module")
def vllm_with_plug_in(
    tiny_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[VllmServer]:
    with vllm_server(tiny_model, tmp_path_factory.mktemp("hmas-vllm")) as server:
        yield server


@pytest.fixture(scope="module")
def stock_vllm(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    directory = tmp_path_factory.mktemp("stock-vllm")
    with vllm_server(tiny_model, directory, scheduler=None) as server:
        yield server

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.daemon.gateway.pump.place import UNKNOWN_KV_BLOCKS, limits_of, link_of
from hmas.daemon.gateway.settings import EngineTarget
from hmas.engine.link.config import LinkConfigError
from hmas.engine.link.curve import create_keys

RUN = Path("/run/hmas")


def target(**fields: Any) -> EngineTarget:
    return EngineTarget.model_validate({"engine_id": "gpu1", "pump": True} | fields)


def test_one_worker_listens_where_the_engine_would() -> None:
    link = link_of(target(), RUN, 0, 1)
    assert (link.engine_id, link.control_endpoint) == ("gpu1", "ipc:///run/hmas/gpu1.control")


def test_each_of_several_workers_is_an_engine_of_its_own(tmp_path: Path) -> None:
    assert link_of(target(), RUN, 1, 2).events_endpoint == "ipc:///run/hmas/gpu1-w1.events"
    create_keys(tmp_path / "keys")
    over_tcp = target(
        control="tcp://10.0.0.1:7000", events="ipc:///run/e", curve_dir=tmp_path / "keys"
    )
    link = link_of(over_tcp, RUN, 2, 3)
    assert (link.control_endpoint, link.events_endpoint) == (
        "tcp://10.0.0.1:7002",
        "ipc:///run/e-w2",
    )
    assert link_of(over_tcp, RUN, 0, 1).control_endpoint == "tcp://10.0.0.1:7000"


def test_an_id_that_is_no_file_name_is_refused() -> None:
    with pytest.raises(LinkConfigError):
        link_of(target(engine_id="a/b"), RUN, 0, 1)


@given(st.integers(1, 500), st.integers(1, 16), st.integers(2**14, 2**24))
def test_the_shares_of_all_workers_add_up(running: int, workers: int, kv_tokens: int) -> None:
    whole = target(pump_max_running=running, pump_kv_tokens=kv_tokens)
    shares = [limits_of(whole, worker, workers) for worker in range(workers)]
    assert sum(share.max_num_seqs for share in shares) == max(running, workers)
    assert sum(share.kv_blocks for share in shares) == kv_tokens // 16
    assert max(s.max_num_seqs for s in shares) - min(s.max_num_seqs for s in shares) <= 1


def test_an_unknown_memory_fences_nothing() -> None:
    assert limits_of(target(), 0, 1).kv_blocks == UNKNOWN_KV_BLOCKS

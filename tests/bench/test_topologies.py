from __future__ import annotations

import json

import pytest

from hmas.bench.topologies import TARGET_BYTES, main, request_bytes
from hmas.bench.topologies import features_of as requests_of
from hmas.engine.topologies import topology_names


def test_one_row_for_each_topology_and_size() -> None:
    written: list[str] = []
    main(["--waiting", "60", "90", "--topology", "rr", "hrrn", "--json"], written.append)
    result = json.loads("".join(written))
    rows = [(row["topology"], row["waiting"]) for row in result["rows"]]
    assert rows == [("rr", 60), ("hrrn", 60), ("rr", 90), ("hrrn", 90)]
    assert all(value > 0 for row in result["rows"] for value in list(row.values())[2:])
    assert {"command", "machine", "date", "target_swap_ms", "target_bytes"} <= set(result)


def test_the_table_tells_what_was_measured() -> None:
    written: list[str] = []
    main(["--waiting", "60", "--topology", "edf"], written.append)
    assert "swap ms" in "".join(written)
    assert "edf" in "".join(written)


@pytest.mark.parametrize("name", topology_names())
def test_a_waiting_request_takes_less_than_a_kibibyte(name: str) -> None:
    assert request_bytes(name, requests_of(2000, seed=3)) < TARGET_BYTES

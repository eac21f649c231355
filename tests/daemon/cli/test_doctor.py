"""``hmas doctor`` finds what stands in the way, and says what to do about it."""

from __future__ import annotations

import fcntl
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hmas.daemon.admin.memory_port import MemoryPort
from tests.daemon.cli.conftest import Hmas


def findings(hmas: Hmas, exit_code: int = 0, **environ: str) -> dict[str, list[dict[str, Any]]]:
    result = hmas("doctor", "--json", **environ)
    assert result.exit_code == exit_code, result.output
    found: dict[str, list[dict[str, Any]]] = {}
    for row in json.loads(result.stdout):
        found.setdefault(row["check"], []).append(row)
    return found


@contextmanager
def held(lock: Path) -> Iterator[None]:
    """As a running daemon holds it."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_machine_where_nothing_runs_yet_is_fine(hmas: Hmas) -> None:
    found = findings(hmas, HMAS_ENGINES=f'[{{"url": "http://127.0.0.1:{hmas.admin_port}"}}]')
    assert found["python"][0]["mark"] == "ok"
    assert found["database"][0]["detail"] == "SQLite, made at the first start"
    assert found["daemon"][0] | {"mark": "note", "fix": "hmas daemon"} == found["daemon"][0]
    assert found["engine API"][0]["mark"] == "note"
    assert "hmas engine" in found["engine API"][0]["fix"]
    assert "fail" not in {row["mark"] for rows in found.values() for row in rows}


def test_people_read_one_line_per_finding(hmas: Hmas) -> None:
    lines = hmas("doctor").stdout.splitlines()
    assert all(line.startswith(("ok ", "note ", "fail ")) for line in lines)
    assert any(line.endswith("-> hmas daemon") for line in lines)


def test_a_taken_port_is_a_note_with_the_setting(hmas: Hmas) -> None:
    with socket.create_server(("127.0.0.1", hmas.admin_port)):
        [row] = findings(hmas)["admin port"]
    assert (row["mark"], row["fix"]) == ("note", "if that is not ours: set admin.port")


def test_a_path_too_long_for_a_socket_is_named(hmas: Hmas) -> None:
    [row] = findings(hmas, 1, HMAS_RUNTIME_DIR=f"/tmp/{'deep/' * 30}")["socket path"]
    assert row["fix"] == "set runtime_dir to a shorter path"


def test_a_directory_that_others_can_write_is_refused(hmas: Hmas) -> None:
    state = hmas.folder / "state"
    state.mkdir()
    state.chmod(0o777)
    [row] = findings(hmas, 1)["state_dir"]
    assert row["fix"] == f"chmod 700 {state}"


def test_a_file_in_the_place_of_a_directory_is_named(hmas: Hmas) -> None:
    (hmas.folder / "state").touch(mode=0o600)
    [row] = findings(hmas, 1)["state_dir"]
    assert "not a directory" in row["detail"]


def test_a_read_only_directory_is_named(powerless: Hmas) -> None:
    parent = powerless.folder / "locked"
    parent.mkdir(mode=0o500)
    [row] = findings(powerless, 1, HMAS_STATE_DIR=str(parent / "state"))["state_dir"]
    assert "cannot be written" in row["detail"]
    assert "choose another state_dir" in row["fix"]


def test_a_corrupt_database_is_named(hmas: Hmas) -> None:
    file = hmas.folder / "state" / "hmas.db"
    file.parent.mkdir(mode=0o700)
    file.write_bytes(b"this is no database " * 200)
    [row] = findings(hmas, 1)["database"]
    assert "not a database" in row["detail"]
    assert row["fix"] == "see storage.url"


def test_old_tables_are_named_with_the_command(hmas: Hmas) -> None:
    file = hmas.folder / "state" / "hmas.db"
    file.parent.mkdir(mode=0o700)
    file.touch(mode=0o600)
    [row] = findings(hmas, 1)["database"]
    assert row["fix"] == "hmas db upgrade"
    hmas.says(0, "db", "upgrade")
    assert findings(hmas)["database"][0]["mark"] == "ok"


def test_memory_forgets_and_doctor_says_so(hmas: Hmas) -> None:
    [row] = findings(hmas, HMAS_STORAGE__URL="memory://")["database"]
    assert (row["mark"], "storage.url" in row["fix"]) == ("note", True)


def test_an_engine_that_answers_is_seen(served: Hmas) -> None:
    url = f"http://127.0.0.1:{served.admin_port}"
    [row] = findings(served, 1, HMAS_ENGINES=f'[{{"url": "{url}"}}]')["engine API"]
    assert row["detail"] == f"{url} answers 404", "that is no engine"


def test_a_running_daemon_is_asked(served: Hmas, fleet: MemoryPort) -> None:
    fleet.set_reachable("engine1", reachable=False)
    runtime = served.folder / "run"
    runtime.mkdir(mode=0o700)
    with held(runtime / "daemon.lock"):
        found = findings(served, 1)
    assert found["daemon"][0]["detail"] == "a daemon runs here"
    assert found["admin API"][0]["mark"] == "ok"
    assert [row["detail"].split(":")[0] for row in found["engine"]] == ["engine1"]
    assert found["clock"][0]["fix"] == "run NTP", "the daemon of this test lives in 2026"


def test_a_daemon_that_does_not_answer_is_a_failure(hmas: Hmas) -> None:
    runtime = hmas.folder / "run"
    runtime.mkdir(mode=0o700)
    with held(runtime / "daemon.lock"):
        [row] = findings(hmas, 1)["admin API"]
    assert "cannot reach the daemon" in row["detail"]


def test_wrong_settings_end_it_at_once(tmp_path: Path, hmas: Hmas) -> None:
    file = tmp_path / "hmas.yaml"
    file.write_text("gatway: {}\n")
    assert "did you mean 'gateway'?" in hmas.says(2, "doctor", "--config", str(file))

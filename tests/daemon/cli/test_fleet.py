"""Looking at the fleet and steering it, against a real admin API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hmas.daemon.admin.memory_port import MemoryPort
from tests.daemon.cli.conftest import VIEWER, Hmas


def test_status_shows_every_engine_and_why(served: Hmas) -> None:
    found = served.json("status")
    assert [engine["engine_id"] for engine in found["engines"]] == ["engine0", "engine1"]
    assert found["health"]["ready"] is True
    said = served.says(0, "status")
    assert "engine0:" in said
    assert found["engines"][0]["topology"] in said


def test_status_names_engines_that_do_not_answer(served: Hmas, fleet: MemoryPort) -> None:
    fleet.set_reachable("engine1", reachable=False)
    said = served.says(0, "status")
    assert "unreachable" in said
    assert "! engine engine1 does not answer" in said


def test_topologies_with_where_they_are_active(served: Hmas) -> None:
    found = served.json("topology")
    assert {"fcfs", "edf", "sjf", "two_lane", "wfq"} <= {one["name"] for one in found["topologies"]}
    assert set(found["active"]) == {"engine0", "engine1"}
    assert "two_lane" in served.says(0, "topology")


def test_a_pin_is_confirmed_shown_and_removed(served: Hmas) -> None:
    pin = ("pin", "edf", "--engine", "engine0", "--reason", "deadline misses", "--for", "30m")
    change = served.json(*pin)
    assert change["override"]["topology"] == "edf"
    assert change["override"]["remaining_s"] == pytest.approx(1800, abs=5)
    [told] = change["engines"]
    assert (told["engine_id"], told["confirmed"]) == ("engine0", True)
    said = served.says(0, "status")
    assert "pin edf on engine0 by ada" in said
    assert "deadline misses" in said
    assert served.json("unpin", "-e", "engine0")["override"]["id"] == change["override"]["id"]
    assert served.json("status")["overrides"] == []


def test_a_pin_says_what_the_engines_answered(served: Hmas) -> None:
    said = served.says(0, "pin", "wfq", "--all", "-r", "unfair", "--hint", "aging_every=4")
    assert "pinned wfq on all engines: unfair" in said
    assert "engine0 runs wfq since directive" in said
    assert "engine1 runs wfq since directive" in said
    [override] = served.json("status")["overrides"]
    assert override["hints"] == {"aging_every": 4.0}


def test_with_one_engine_it_need_not_be_named(served_one: Hmas) -> None:
    change = served_one.json("pin", "sjf", "--reason", "short ones first")
    assert change["override"]["engine_id"] == "engine0"


def test_an_engine_that_does_not_confirm_is_a_failure(served: Hmas, fleet: MemoryPort) -> None:
    fleet.set_reachable("engine1", reachable=False)
    result = served("pin", "edf", "--all", "-r", "misses", "--wait", "0.3", "--json")
    assert result.exit_code == 1
    told = {one["engine_id"]: one["confirmed"] for one in json.loads(result.stdout)["engines"]}
    assert told == {"engine0": True, "engine1": False}
    assert "not confirmed by engine1 in time" in result.stderr
    assert "engine1 is unreachable" in served.says(
        1, "pin", "edf", "--all", "-r", "misses", "--wait", "0.1"
    )


def test_nobody_is_asked_without_waiting(served: Hmas) -> None:
    change = served.json("pin", "edf", "-e", "engine1", "-r", "misses", "--wait", "0")
    assert change["engines"] == []


def test_controls_are_set_and_released(served_one: Hmas) -> None:
    change = served_one.json("set", "--n-run", "8", "--token-budget", "1024", "-r", "thrashing")
    assert (change["override"]["n_run"], change["override"]["token_budget"]) == (8, 1024)
    assert change["engines"][0]["confirmed"] is True
    assert "released engine0" in served_one.says(0, "set", "--release")
    assert served_one.json("status")["overrides"] == []


def test_bypass_on_and_off(served: Hmas) -> None:
    on = served.says(0, "bypass", "on", "--all", "--reason", "incident 4711", "--for", "10m")
    assert "bypass on, all engines for" in on
    assert "bypass (fcfs)" in served.says(0, "status")
    assert served.json("bypass", "off")["override"]["reason"] == "incident 4711"
    served.json("status")
    assert not any(engine["bypass"] for engine in served.json("status")["engines"])


def test_decisions_newest_first_of_one_engine(served: Hmas) -> None:
    rows = served.json("decisions", "--engine", "engine1", "--limit", "3")
    times = [row["at_s"] for row in rows]
    assert len(rows) == 3
    assert times == sorted(times, reverse=True)
    assert {row["engine_id"] for row in rows} == {"engine1"}
    assert rows[0]["sentence"].split(":")[0] in served.says(0, "decisions")
    assert served.says(0, "decisions", "-e", "engine7") == "no decisions yet"


WRONG: list[tuple[list[str], str]] = [
    (["pin", "edff", "-e", "engine0", "-r", "misses"], "edff"),
    (["pin", "edf", "-e", "engine7", "-r", "misses"], "engine7"),
    (["pin", "edf", "-r", "misses"], "which engine? There are: engine0, engine1"),
    (["pin", "edf", "-e", "engine0", "--all", "-r", "misses"], "--engine and --all exclude"),
    (["pin", "edf", "-e", "engine0"], "--reason"),
    (["pin", "edf", "-e", "engine0", "-r", "x"], "--reason String should have at least 3"),
    (["pin", "edf", "-e", "engine0", "-r", "misses", "--for", "30"], "did you mean 30s or 30m?"),
    (["pin", "edf", "-e", "engine0", "-r", "misses", "--for", "0s"], "--for '0s' is no time"),
    (["pin", "edf", "-e", "engine0", "-r", "misses", "--for", "60d"], "--for Input should be less"),
    (["pin", "edf", "-e", "engine0", "-r", "misses", "--hint", "x"], "--hint 'x' is not NAME="),
    (["pin", "edf", "-e", "engine0", "-r", "misses", "--hint", "x=soon"], "is not NAME=NUMBER"),
    (["pin", "edf", "-e", "engine0", "-r", "misses", "--hint", "speed=1"], "speed"),
    (["set", "-e", "engine0", "-r", "thrashing"], "give n_run, token_budget or both"),
    (["set", "-e", "engine0", "-r", "thrashing", "--n-run", "0"], "--n-run"),
    (["set", "-e", "engine0", "--n-run", "4"], "--reason"),
    (["bypass", "maybe"], "'maybe' is neither on nor off"),
    (["bypass", "on", "--all"], "--reason"),
    (["decisions", "--limit", "0"], "--limit"),
    (["status", "--url", "127.0.0.1:8002"], "write it like http://127.0.0.1:8002"),
    (["status", "--url", "http://[::1"], "is no URL"),
    (["status", "--url", "http://localhost:99999"], "is no URL"),
]


@pytest.mark.parametrize(("arguments", "named"), WRONG, ids=str)
def test_wrong_usage_is_exit_code_2_and_named(
    arguments: list[str], named: str, served: Hmas
) -> None:
    assert named in served.says(2, *arguments)
    assert served.json("status")["overrides"] == [], "nothing may have been changed"


@pytest.mark.parametrize("command", [["unpin"], ["bypass", "off"], ["set", "--release"]])
def test_nothing_to_remove_is_a_failure(command: list[str], served: Hmas) -> None:
    assert "fix: in force: none" in served.says(1, *command, "-e", "engine0")


def test_removing_needs_a_name_when_there_are_two(served: Hmas) -> None:
    for engine in ("engine0", "engine1"):
        served.json("pin", "edf", "-e", engine, "-r", "misses", "--wait", "0")
    said = served.says(2, "unpin")
    assert "which pin? In force on: engine0, engine1" in said
    assert "--engine ID" in said


EVERY_ONE_THAT_ASKS: list[list[str]] = [
    ["status"],
    ["topology"],
    ["pin", "edf", "-e", "engine0", "-r", "misses"],
    ["unpin"],
    ["set", "--n-run", "4", "-r", "thrashing"],
    ["bypass", "on", "-r", "incident"],
    ["decisions"],
]


@pytest.mark.parametrize("arguments", EVERY_ONE_THAT_ASKS, ids=lambda value: value[0])
def test_without_a_daemon_every_command_says_how_to_start_one(
    arguments: list[str], hmas: Hmas
) -> None:
    said = hmas.says(3, *arguments)
    assert f"cannot reach the daemon at http://127.0.0.1:{hmas.admin_port}" in said
    assert "hmas daemon" in said
    result = hmas(*arguments, "--json")
    assert (result.exit_code, result.stdout) == (3, "")


def test_a_missing_token_is_named_with_the_fix(served: Hmas) -> None:
    served.token_file.unlink()
    said = served.says(1, "status")
    assert "--token" in said
    assert "HMAS_ADMIN__TOKEN" in said
    assert served.says(1, "status", "--token", "wrong-token-0123456789")


def test_a_viewer_may_look_and_not_touch(served: Hmas) -> None:
    environ: dict[str, Any] = {"HMAS_ADMIN__TOKEN": VIEWER}
    assert served.json("status", **environ)["engines"]
    refused = served.says(1, "bypass", "on", "--all", "-r", "incident", **environ)
    assert "operator" in refused
    assert served.json("status")["overrides"] == []


def test_the_address_may_end_with_a_slash(served: Hmas) -> None:
    url = f"http://127.0.0.1:{served.admin_port}/"
    assert served.json("status", "--url", url, HMAS_ADMIN__PORT="1")["engines"]

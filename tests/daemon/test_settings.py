"""All settings: composed, loaded, checked, documented."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hmas.daemon.config.problems import Problem, SettingsError
from hmas.daemon.config.schema import keys_of
from hmas.daemon.config.shown import documentation, held
from hmas.daemon.settings import (
    EngineSettings,
    RetentionSettings,
    Settings,
    load_settings,
)
from hmas.storage.retention import RetentionAges

ROOT = Path(__file__).parent.parent.parent
ENVIRON = {"XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/home/op/state"}
TOKEN = "0123456789abcdef"


def test_defaults_hold_without_a_file() -> None:
    loaded = load_settings(environ=ENVIRON)
    assert loaded.settings.runtime_dir == Path("/run/user/7/hmas")
    assert loaded.settings.state_dir == Path("/home/op/state/hmas")
    assert loaded.settings.storage_url == "sqlite:////home/op/state/hmas/hmas.db"
    assert loaded.settings.admin.port == 8002
    assert loaded.origin("admin.port") == "default"


def test_flag_wins_over_environment_wins_over_file(tmp_path: Path) -> None:
    file = tmp_path / "hmas.yaml"
    file.write_text("admin: {port: 1001}\ngateway: {port: 1001}\ncontrol: {cycle_s: 1.5}\n")
    environ = ENVIRON | {"HMAS_ADMIN__PORT": "1002", "HMAS_GATEWAY__PORT": "1002"}
    loaded = load_settings(file, environ, {"admin.port": 1003, "admin.host": None})
    assert loaded.settings.admin.port == 1003
    assert loaded.settings.gateway.port == 1002
    assert loaded.settings.control.cycle_s == 1.5
    assert loaded.origin("admin.port") == "flag"
    assert loaded.origin("gateway.port") == "environment HMAS_GATEWAY__PORT"
    assert loaded.origin("control.cycle_s") == f"file {file}"


def test_the_file_can_come_from_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "hmas.yaml"
    file.write_text("log: {level: debug}\n")
    loaded = load_settings(environ=ENVIRON | {"HMAS_CONFIG": str(file)})
    assert loaded.settings.log.level == "debug"


@pytest.mark.parametrize(
    ("tree", "key", "message"),
    [
        ({"admn": {}}, "admn", "did you mean 'admin'?"),
        ({"control": {"statera": {"u_hihg": 1}}}, "control.statera.u_hihg", "'u_high'"),
        ({"control": {"cycle_s": 9.0}}, "control", "ttl_s"),
        ({"meta": {"primary": "llm"}}, "meta", "add base_url and model"),
        ({"engines": [{"url": "gpu1"}]}, "engines[0].url", "valid URL"),
        ({"admin": {"host": "0.0.0.0"}}, "admin", "add tokens"),
        ({"runtime_dir": "here"}, "(settings)", "runtime_dir must be an absolute path"),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, tree: dict[str, object], key: str, message: str
) -> None:
    file = tmp_path / "hmas.yaml"
    file.write_text(yaml.safe_dump(tree))
    with pytest.raises(SettingsError) as caught:
        load_settings(file, ENVIRON)
    assert [problem.key for problem in caught.value.problems] == [key]
    assert message in caught.value.problems[0].message


def test_a_misspelt_variable_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"HMAS_ADMIN__PROT.*did you mean 'port'"):
        load_settings(environ=ENVIRON | {"HMAS_ADMIN__PROT": "1"})


def test_the_short_token_is_an_operators() -> None:
    loaded = load_settings(environ=ENVIRON | {"HMAS_ADMIN__TOKEN": TOKEN})
    [token] = loaded.settings.admin_settings().tokens
    assert token.role.value == "operator"
    assert token.token is not None
    assert token.token.get_secret_value() == TOKEN


def test_without_tokens_this_machine_has_its_own() -> None:
    chosen = load_settings(environ=ENVIRON).settings
    [token] = chosen.admin_settings().tokens
    assert token.token_file == chosen.token_file


def test_engines_are_listed_once_for_gateway_and_daemon(tmp_path: Path) -> None:
    file = tmp_path / "hmas.yaml"
    file.write_text(
        "engines:\n- {engine_id: a, url: 'http://gpu1:8000'}\n"
        "- {engine_id: b, url: 'http://gpu2:8000', max_in_flight: 7}\n"
    )
    chosen = load_settings(file, ENVIRON).settings
    targets = chosen.gateway_settings().engines
    assert [(one.engine_id, one.base_url, one.max_in_flight) for one in targets] == [
        ("a", "http://gpu1:8000", 5000),
        ("b", "http://gpu2:8000", 7),
    ]
    [link] = chosen.engines[1].links(chosen.runtime_dir, workers=4)
    assert link.control_endpoint == "ipc:///run/user/7/hmas/b.control"


def test_a_pump_takes_directives_in_every_worker() -> None:
    pumped = EngineSettings(engine_id="a", controlled=False, pump=True)
    directory = Path("/run/hmas")
    assert [link.engine_id for link in pumped.links(directory, workers=1)] == ["a"]
    assert [link.engine_id for link in pumped.links(directory, workers=2)] == ["a-w0", "a-w1"]
    assert EngineSettings(controlled=False).links(directory, workers=2) == []
    assert pumped.target().pump


def test_a_gateway_may_have_targets_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "hmas.yaml"
    file.write_text(
        "engines: [{engine_id: a}]\ngateway: {engines: [{engine_id: c, url: 'http://gpu3:8000'}]}\n"
    )
    targets = load_settings(file, ENVIRON).settings.gateway_settings().engines
    assert [one.engine_id for one in targets] == ["c"]


def test_a_link_over_tcp_needs_keys() -> None:
    engine = EngineSettings(control="tcp://gpu1:7000", events="tcp://gpu1:7001")
    with pytest.raises(SettingsError, match="CURVE keys"):
        engine.links(Path("/run/hmas"), workers=1)


def test_secrets_are_shown_nowhere(tmp_path: Path) -> None:
    file = tmp_path / "hmas.yaml"
    file.write_text(
        f"admin: {{tokens: [{{name: op, token: {TOKEN}}}]}}\n"
        "storage: {url: 'postgresql://op:pa55word@db/hmas'}\n"
        "meta: {llm: {base_url: 'http://x/v1', model: m, api_key: sk-123456}}\n"
    )
    loaded = load_settings(file, ENVIRON)
    shown = "".join(f"{row.key}={row.value}\n" for row in held(loaded)) + repr(loaded)
    for secret in (TOKEN, "pa55word", "sk-123456"):
        assert secret not in shown
    assert loaded.settings.storage_url == "postgresql://op:pa55word@db/hmas"


def test_secrets_are_not_in_errors(tmp_path: Path) -> None:
    file = tmp_path / "hmas.yaml"
    file.write_text("admin: {tokens: [{name: op, token: shortsecret, role: boss}]}\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(file, ENVIRON)
    assert "shortsecret" not in str(caught.value)


def test_every_key_can_be_shown_and_has_an_origin(tmp_path: Path) -> None:
    rows = {row.key: row for row in held(load_settings(environ=ENVIRON))}
    assert rows["gateway.port"].value == "8001"
    assert rows["gateway.port"].origin == "default"
    assert "meta.llm.model" not in rows


def test_the_settings_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    assert page == documentation(), "run: hmas config docs > docs/settings.md"


def test_every_key_of_the_daemon_says_what_it_means() -> None:
    silent = [
        key.path
        for key in keys_of(Settings)
        if key.path.startswith(("daemon.", "log.")) and not key.field.description
    ]
    assert silent == []


def test_retention_is_what_storage_understands() -> None:
    assert RetentionAges(**RetentionSettings().model_dump()) == RetentionAges()


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
names = st.sampled_from([key.path.replace("[]", "") for key in keys_of(Settings)])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(names, scalars | st.lists(scalars, max_size=3), max_size=4))
def test_any_values_are_taken_or_refused_with_the_key(values: dict[str, object]) -> None:
    problems: tuple[Problem, ...] = ()
    try:
        load_settings(environ=ENVIRON, flags=values)
    except SettingsError as error:
        problems = error.problems
    assert all(problem.key and problem.message for problem in problems)

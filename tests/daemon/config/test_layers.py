"""Layers: the later one wins, every value knows its origin, every problem names its key."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from hmas.daemon.config.layers import (
    Layers,
    environment_value,
    nested,
    read_environment,
    read_file,
)
from hmas.daemon.config.problems import Problem, SettingsError


class Inner(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    port: int = 1
    names: tuple[str, ...] = ()


class Outer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    admin: Inner = Inner()
    level: str = "info"


def loaded(*trees: tuple[dict[str, object], str]) -> tuple[Outer, dict[str, str]]:
    layers = Layers()
    for tree, origin in trees:
        layers.add(tree, origin)
    result = layers.validate(Outer)
    return result.settings, {path: result.origin(path) for path in ("admin.port", "level")}


def problems_of(layers: Layers) -> tuple[Problem, ...]:
    try:
        layers.validate(Outer)
    except SettingsError as error:
        return error.problems
    return ()


def test_the_later_layer_wins_key_by_key() -> None:
    settings, origins = loaded(
        ({"admin": {"port": 2, "names": ["a", "b"]}, "level": "debug"}, "file"),
        ({"admin": {"port": "3"}}, "environment"),
    )
    assert settings.admin == Inner(port=3, names=("a", "b"))
    assert origins == {"admin.port": "environment", "level": "file"}


def test_lists_are_replaced_as_a_whole() -> None:
    settings, _ = loaded(
        ({"admin": {"names": ["a", "b"]}}, "file"), ({"admin": {"names": ["c"]}}, "flag")
    )
    assert settings.admin.names == ("c",)


def test_what_nobody_set_is_default() -> None:
    settings, origins = loaded()
    assert settings == Outer()
    assert set(origins.values()) == {"default"}


def test_every_problem_names_its_key_its_origin_and_the_nearest_known_key() -> None:
    layers = Layers()
    layers.add({"admin": {"prot": 1, "port": "x"}}, "file a.yaml")
    layers.add({"levl": "debug"}, "environment HMAS_LEVL")
    with pytest.raises(SettingsError) as caught:
        layers.validate(Outer)
    problems = {problem.key: problem for problem in caught.value.problems}
    assert set(problems) == {"admin.prot", "admin.port", "levl"}
    assert "did you mean 'port'?" in problems["admin.prot"].message
    assert problems["admin.port"].origin == "file a.yaml"
    assert str(problems["levl"]).startswith("levl (environment HMAS_LEVL): unknown key; did you")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_no_tree_makes_validation_do_anything_but_accept_or_explain(tree: object) -> None:
    layers = Layers()
    layers.add(nested("admin", tree), "file")
    assert all(problem.key and problem.message for problem in problems_of(layers))


@given(st.lists(st.sampled_from(["a", "b_c", "d"]), min_size=1, max_size=4))
def test_a_path_and_its_tree_are_the_same(names: list[str]) -> None:
    tree: object = nested(".".join(names), 7)
    for name in names:
        assert isinstance(tree, dict)
        tree = tree[name]
    assert tree == 7


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "is not YAML"),
        ("- 1\n- 2\n", "must hold keys and values"),
        ("x" * (1024 * 1024 + 1), "larger than 1 MiB"),
        ("a: " + "[" * 5000, "is not YAML"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "hmas.yaml"
    path.write_text(content)
    with pytest.raises(SettingsError, match=message):
        read_file(path)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml.*cannot be read: No such file"):
        read_file(tmp_path / "none.yaml")


def test_an_empty_file_is_no_settings(tmp_path: Path) -> None:
    path = tmp_path / "hmas.yaml"
    path.write_text("# nothing yet\n")
    assert read_file(path) == {}


def test_numbers_as_keys_are_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "hmas.yaml"
    path.write_text("admin: {1: x}\n")
    assert read_file(path) == {"admin": {"1": "x"}}


def test_variables_of_other_programs_are_left_alone() -> None:
    environ = {
        "HMAS_ADMIN__PORT": "1",
        "HMAS_LINK_CONTROL": "x",
        "HMAS_LINK__CONTROL": "x",
        "HMAS_CONSOLE_ADMIN_URL": "x",
        "HMAS_CONSOLE__PORT": "1",
        "HMAS_CONFIG": "x",
        "PATH": "/bin",
    }
    assert read_environment(environ, ("LINK_", "CONSOLE_", "CONFIG")) == {
        "admin.port": "HMAS_ADMIN__PORT",
        "link.control": "HMAS_LINK__CONTROL",
        "console.port": "HMAS_CONSOLE__PORT",
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8002", "8002"),
        ("null", None),
        ("[1, a]", [1, "a"]),
        ('{"a": 1}', {"a": 1}),
        ("[broken", "[broken"),
        ("", ""),
    ],
)
def test_environment_values_are_text_unless_they_are_lists_or_maps(
    text: str, value: object
) -> None:
    assert environment_value(text) == value

"""Settings from a file, the environment and flags, each value with where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from hmas.daemon.config.problems import Problem, SettingsError, nearest
from hmas.daemon.config.schema import fields_of, section_at

M = TypeVar("M", bound=BaseModel)
Tree = dict[str, Any]

ENV_PREFIX = "HMAS_"
MAX_FILE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Loaded(Generic[M]):
    """Settings, and the origin of every key that is not at its default."""

    settings: M
    origins: dict[str, str]

    def origin(self, path: str) -> str:
        """Where the value of ``path`` came from; the value of a list came as a whole."""
        return _origin(self.origins, path)


@dataclass(slots=True)
class Layers:
    """Values laid over each other: the later call wins, key by key, lists as a whole."""

    values: Tree = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    def add(self, tree: Tree, origin: str) -> None:
        self._merge(self.values, tree, origin, "")

    def _merge(self, into: Tree, tree: Tree, origin: str, prefix: str) -> None:
        for name, value in tree.items():
            path = f"{prefix}{name}"
            if isinstance(value, dict) and value and isinstance(into.get(name, {}), dict):
                self._merge(into.setdefault(name, {}), value, origin, f"{path}.")
                continue
            into[name] = value
            self.origins[path] = origin

    def validate(self, model: type[M]) -> Loaded[M]:
        """The settings. Raises :class:`SettingsError` with every problem."""
        try:
            settings = model.model_validate(self.values)
        except ValidationError as error:
            raise SettingsError(_problems(error, model, self.origins)) from None
        return Loaded(settings, dict(self.origins))


def _origin(origins: Mapping[str, str], path: str) -> str:
    while path:
        if path in origins:
            return origins[path]
        path = path.rpartition(".")[0]
    return "default"


def _problems(
    error: ValidationError, model: type[BaseModel], origins: Mapping[str, str]
) -> list[Problem]:
    problems = []
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        location = detail["loc"]
        key = dotted(location) or "(settings)"
        message = detail["msg"].removeprefix("Value error, ")
        if detail["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            parent = section_at(model, location[:-1])
            known = list(fields_of(parent)) if parent else []
            message = f"unknown key; {nearest(str(location[-1]), known)}"
        origin = _origin(origins, key.replace("[", ".").replace("]", ""))
        problems.append(Problem(key, "" if origin == "default" else origin, message))
    return problems


def dotted(location: tuple[str | int, ...]) -> str:
    """``engines[0].url``."""
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def nested(path: str, value: object) -> Tree:
    """``{"a": {"b": value}}`` for ``a.b``."""
    first, _, rest = path.partition(".")
    return {first: nested(rest, value) if rest else value}


def read_file(path: Path) -> Tree:
    """The YAML file as a tree. Raises :class:`SettingsError`."""
    origin = f"file {path}"
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise SettingsError([Problem("(file)", origin, "is larger than 1 MiB")])
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError([Problem("(file)", origin, f"cannot be read: {reason}")]) from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError([Problem("(file)", origin, f"is not YAML: {error}")]) from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise SettingsError([Problem("(file)", origin, "must hold keys and values at its top")])
    return _with_text_keys(tree)


def _with_text_keys(tree: Mapping[Any, Any]) -> Tree:
    return {
        str(name): _with_text_keys(value) if isinstance(value, dict) else value
        for name, value in tree.items()
    }


def read_environment(environ: Mapping[str, str], others: tuple[str, ...]) -> dict[str, str]:
    """Dotted path -> variable, for every ``HMAS_*`` but those of ``others``.

    ``LINK_`` in ``others`` stands for ``HMAS_LINK_*``, not for ``HMAS_LINK__*``.
    """
    paths = {}
    for name in sorted(environ):
        if not name.startswith(ENV_PREFIX):
            continue
        rest = name.removeprefix(ENV_PREFIX)
        first = next((other for other in others if rest.startswith(other)), None)
        if first is None or rest.removeprefix(first).startswith("_"):
            paths[rest.lower().replace("__", ".")] = name
    return paths


def environment_value(text: str) -> object:
    """The text itself, which the model converts; lists and maps are written as YAML."""
    if text.strip() == "null":
        return None
    if text.lstrip()[:1] in ("[", "{"):
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError:
            return text
    return text

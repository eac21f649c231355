"""All settings: sections of every part, composed; read from file, environment and flags."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, model_validator

from hmas.controllers.config import ControlConfig
from hmas.daemon.admin.settings import AdminSettings, AdminToken
from hmas.daemon.config.layers import (
    Layers,
    Loaded,
    Tree,
    environment_value,
    nested,
    read_environment,
    read_file,
)
from hmas.daemon.config.problems import Problem, SettingsError
from hmas.daemon.control.settings import DaemonSettings, MetaSettings, Seconds, Section
from hmas.daemon.gateway.pump.place import link_of
from hmas.daemon.gateway.settings import EngineTarget, GatewaySettings
from hmas.engine.link.config import LinkConfig, LinkConfigError, runtime_dir
from hmas.engine.link.curve import CurveError

OF_OTHER_PROGRAMS = ("CONFIG", "CONSOLE_", "ENGINE_", "LINK_", "VLLM_", "TEST_")
"""Beginnings of ``HMAS_*`` variables that the engine side, the console or tests read."""

Age = Annotated[float, Field(gt=0, le=100_000)]

TOKEN_FILE = "admin.token"  # noqa: S105 - a file name


class EngineSettings(EngineTarget):
    """One of ``engines:``; what the gateway needs, and whether the daemon steers it.

    Attributes:
        controlled: false: it runs without the plug-in, only the gateway uses it; with ``pump``
            the daemon steers the gateway's pump in its place.
    """

    controlled: bool = True

    def links(self, directory: Path, workers: int) -> list[LinkConfig]:
        """Where it takes directives: its plug-in, or its pump in each of the gateway's workers.

        Raises:
            SettingsError: an address or a key is wrong.
        """
        if not (self.controlled or self.pump):
            return []
        ends = workers if self.pump else 1
        try:
            return [link_of(self, directory, end, ends) for end in range(ends)]
        except (LinkConfigError, CurveError) as error:
            raise SettingsError([Problem(f"engines: {self.engine_id}", "", str(error))]) from error

    def target(self) -> EngineTarget:
        """What the gateway needs of it."""
        return EngineTarget(**{name: getattr(self, name) for name in EngineTarget.model_fields})


class RetentionSettings(Section):
    """How long records are kept: ``_h`` in hours, ``_d`` in days."""

    short_views_h: Age = 24.0
    """Then V_short becomes one row per minute."""
    minute_views_d: Age = 30.0
    long_views_d: Age = 30.0
    requests_d: Age = 14.0
    decisions_d: Age = 90.0
    directives_d: Age = 30.0
    """The newest of every engine stays."""
    guard_events_d: Age = 90.0
    overrides_d: Age = 365.0
    """Counted from their end."""
    audit_d: Age = 365.0
    training_d: Age = 90.0
    """Hashed features of requests whose tenants agreed (`learn`)."""
    training_rows: Annotated[int, Field(ge=0)] = 200_000
    """The newest ones; whatever their age, no more stay."""


class StorageSettings(Section):
    """``storage:`` where records are kept."""

    url: SecretStr | None = None
    """``sqlite:////path/hmas.db``, ``postgresql://user@host/name`` or ``memory://``; default
    SQLite in ``state_dir``."""
    capacity: Annotated[int, Field(ge=100, le=10_000_000)] = 50_000
    """Records that may wait for a database that does not answer; then the least valuable go."""
    retention: RetentionSettings = RetentionSettings()
    close_timeout_s: Seconds = 5.0
    """How long a stopping daemon waits for the last records to be written."""


class ConsoleSettings(Section):
    """``console:`` where the operator console listens."""

    enabled: bool = True
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65535)] = 8501


class LogSettings(Section):
    """``log:`` of every program."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """Of our own loggers; libraries speak up from warnings on."""
    format: Literal["text", "json"] = "text"
    """``json``: one object per line, for collectors."""


class Settings(Section):
    """Everything that can be set, in one YAML file.

    Attributes:
        runtime_dir: sockets; default ``$XDG_RUNTIME_DIR/hmas``, else ``/tmp/hmas-<uid>``.
        state_dir: database, token, logs; default ``$XDG_STATE_HOME/hmas``, else
            ``~/.local/state/hmas``.
        engines: the fleet; empty: one engine at ``http://127.0.0.1:8000``.
    """

    runtime_dir: Path
    state_dir: Path
    log: LogSettings = LogSettings()
    engines: tuple[EngineSettings, ...] = ()
    gateway: GatewaySettings = GatewaySettings()
    daemon: DaemonSettings = DaemonSettings()
    control: ControlConfig = ControlConfig()
    meta: MetaSettings = MetaSettings()
    storage: StorageSettings = StorageSettings()
    admin: AdminSettings = AdminSettings()
    console: ConsoleSettings = ConsoleSettings()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in ("runtime_dir", "state_dir"):
            if not getattr(self, name).is_absolute():
                raise ValueError(f"{name} must be an absolute path")
        return self

    @property
    def storage_url(self) -> str:
        """With its password."""
        url = self.storage.url
        return url.get_secret_value() if url else f"sqlite:///{self.state_dir}/hmas.db"

    @property
    def token_file(self) -> Path:
        """Made at the first start; command line and console of this machine read it."""
        return self.state_dir / TOKEN_FILE

    def gateway_settings(self) -> GatewaySettings:
        """With ``engines:`` as its targets, unless it lists its own."""
        if not self.engines or "engines" in self.gateway.model_fields_set:
            return self.gateway
        targets = tuple(engine.target() for engine in self.engines)
        return self.gateway.model_copy(update={"engines": targets})

    def admin_settings(self) -> AdminSettings:
        """With the token file of this machine where no tokens are set."""
        if self.admin.tokens:
            return self.admin
        token = AdminToken(name="local", token_file=self.token_file)
        return self.admin.model_copy(update={"tokens": (token,)})


def state_dir(environ: Mapping[str, str]) -> Path:
    """``$XDG_STATE_HOME/hmas``, else ``~/.local/state/hmas``."""
    home = environ.get("XDG_STATE_HOME")
    return Path(home) / "hmas" if home else Path.home() / ".local" / "state" / "hmas"


def load_settings(
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> Loaded[Settings]:
    """Flags over environment over file over defaults.

    Args:
        file: the YAML file; None: ``$HMAS_CONFIG``, else no file.
        environ: None: this process's.
        flags: dotted path -> value; a value of None was not given.

    Raises:
        SettingsError: every wrong key, with where it was given.
    """
    environ = os.environ if environ is None else environ
    layers = Layers()
    defaults = {"runtime_dir": str(runtime_dir(environ)), "state_dir": str(state_dir(environ))}
    layers.add(defaults, "default")
    if file is None and environ.get("HMAS_CONFIG"):
        file = Path(environ["HMAS_CONFIG"])
    if file is not None:
        layers.add(_with_short_token(read_file(file)), f"file {file}")
    for path, variable in read_environment(environ, OF_OTHER_PROGRAMS).items():
        tree = nested(path, environment_value(environ[variable]))
        layers.add(_with_short_token(tree), f"environment {variable}")
    for path, value in (flags or {}).items():
        if value is not None:
            layers.add(nested(path, value), "flag")
    return layers.validate(Settings)


def _with_short_token(tree: Tree) -> Tree:
    """``admin.token`` (``HMAS_ADMIN__TOKEN``): one operator's token, for daemon and CLI alike."""
    admin = tree.get("admin")
    if not isinstance(admin, dict) or "token" not in admin:
        return tree
    token = {"name": "operator", "token": str(admin["token"])}
    rest = {name: value for name, value in admin.items() if name != "token"}
    return {**tree, "admin": {**rest, "tokens": [token, *(rest.get("tokens") or [])]}}

"""Where the control link of one engine listens."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from hmas.engine.link.curve import CurveKeys, load_keys

MAX_IPC_PATH_BYTES: Final = 107
_ENGINE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TCP = re.compile(r"tcp://(?P<host>[^:/]+|\[[0-9A-Fa-f:.]+\]):(?P<port>\d{1,5})")


class LinkConfigError(ValueError):
    """A setting of the control link is wrong; the message names it and the fix."""


def runtime_dir(environ: Mapping[str, str]) -> Path:
    """``HMAS_RUNTIME_DIR``, else ``$XDG_RUNTIME_DIR/hmas``, else ``/tmp/hmas-<uid>``."""
    if explicit := environ.get("HMAS_RUNTIME_DIR"):
        return Path(explicit)
    if session := environ.get("XDG_RUNTIME_DIR"):
        return Path(session) / "hmas"
    return Path(f"/tmp/hmas-{os.getuid()}")  # noqa: S108 - made 0700 and checked for its owner


@dataclass(frozen=True, slots=True)
class LinkConfig:
    """Endpoints of one engine.

    Raises:
        LinkConfigError: an id that is no file name, an unknown transport, TCP without keys.
    """

    engine_id: str
    control_endpoint: str
    events_endpoint: str
    curve: CurveKeys | None = None

    def __post_init__(self) -> None:
        if not _ENGINE_ID.fullmatch(self.engine_id):
            raise LinkConfigError(
                f"HMAS_ENGINE_ID {self.engine_id!r}: use 1 to 64 letters, digits, '.', '_', '-'"
            )
        self._check("HMAS_LINK_CONTROL", self.control_endpoint)
        self._check("HMAS_LINK_EVENTS", self.events_endpoint)

    def _check(self, name: str, endpoint: str) -> None:
        if endpoint.startswith("ipc://"):
            path = endpoint.removeprefix("ipc://")
            if not path.startswith("/") or len(os.fsencode(path)) > MAX_IPC_PATH_BYTES:
                raise LinkConfigError(
                    f"{name} {endpoint}: needs an absolute path of at most "
                    f"{MAX_IPC_PATH_BYTES} bytes; set HMAS_RUNTIME_DIR to a shorter directory"
                )
        elif _TCP.fullmatch(endpoint):
            if self.curve is None:
                raise LinkConfigError(
                    f"{name} {endpoint}: TCP needs CURVE keys; set HMAS_LINK_CURVE_DIR to a "
                    "directory made by: python -m hmas.engine.link.curve DIRECTORY"
                )
        else:
            raise LinkConfigError(f"{name} {endpoint!r}: use ipc:///path or tcp://host:port")

    @classmethod
    def local(cls, engine_id: str, directory: Path) -> Self:
        """The default: two sockets in ``directory``."""
        return cls(
            engine_id=engine_id,
            control_endpoint=f"ipc://{directory}/{engine_id}.control",
            events_endpoint=f"ipc://{directory}/{engine_id}.events",
        )

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], *, rank: int = 0, size: int = 1) -> Self:
        """Settings of this process; data-parallel rank ``r`` gets suffix ``-dp<r>``, port + r."""
        engine_id = environ.get("HMAS_ENGINE_ID") or "engine0"
        if size > 1:
            engine_id = f"{engine_id}-dp{rank}"
        default = cls.local(engine_id, runtime_dir(environ))
        keys_dir = environ.get("HMAS_LINK_CURVE_DIR")
        control, events = environ.get("HMAS_LINK_CONTROL"), environ.get("HMAS_LINK_EVENTS")
        return cls(
            engine_id=engine_id,
            control_endpoint=_of_rank(control, rank) if control else default.control_endpoint,
            events_endpoint=_of_rank(events, rank) if events else default.events_endpoint,
            curve=load_keys(Path(keys_dir)) if keys_dir else None,
        )


def _of_rank(endpoint: str, rank: int) -> str:
    """The same endpoint for another data-parallel rank of the same engine."""
    if rank == 0:
        return endpoint
    if match := _TCP.fullmatch(endpoint):
        return f"tcp://{match['host']}:{int(match['port']) + rank}"
    return f"{endpoint}-dp{rank}"

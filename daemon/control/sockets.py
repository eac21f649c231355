"""The daemon's own sockets: one context, gateways' events in, notices out."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import zmq
import zmq.asyncio

from hmas.daemon.config.problems import Problem, SettingsError
from hmas.daemon.control.settings import DaemonSettings
from hmas.daemon.links import BatchHandler, EventReceiver, NoticeSender
from hmas.engine.link.config import LinkConfigError
from hmas.engine.link.curve import CurveError, CurveKeys, admit_known_client, load_keys
from hmas.engine.link.sockets import claim


class DaemonSockets:
    """Everything that must be closed together, in the right order."""

    def __init__(
        self, settings: DaemonSettings, runtime_dir: Path, from_gateway: BatchHandler
    ) -> None:
        """Raises :class:`SettingsError`: an address is in use, or keys are missing."""
        self._closing = ExitStack()
        try:
            self._open(settings, runtime_dir, from_gateway)
        except (LinkConfigError, CurveError) as error:
            self._closing.close()
            raise SettingsError([Problem("daemon", "", str(error))]) from error
        except BaseException:
            self._closing.close()
            raise

    def _open(
        self, settings: DaemonSettings, runtime_dir: Path, from_gateway: BatchHandler
    ) -> None:
        self._closing.callback(os.close, claimed(runtime_dir))
        self.context = zmq.asyncio.Context()
        self._closing.callback(self.context.destroy, linger=200)
        curve = self._keys(settings)
        self.gateways = EventReceiver.bound(
            self.context,
            settings.gateway_events or f"ipc://{runtime_dir}/gateway-events",
            from_gateway,
            curve,
        )
        self._closing.callback(self.gateways.close)
        self.notices = NoticeSender(
            self.context, settings.notices or f"ipc://{runtime_dir}/notices", curve
        )
        self._closing.callback(self.notices.close)

    def _keys(self, settings: DaemonSettings) -> CurveKeys | None:
        if settings.curve_dir is None:
            return None
        curve = load_keys(settings.curve_dir)
        plain: zmq.Context[Any] = zmq.Context.shadow(self.context.underlying)
        stop: Callable[[], None] = admit_known_client(plain, curve)
        self._closing.callback(stop)
        return curve

    def close(self) -> None:
        self._closing.close()


def claimed(runtime_dir: Path) -> int:
    """A lock that one daemon holds while it lives.

    Raises:
        SettingsError: another one does.
    """
    try:
        return claim(runtime_dir / "daemon")
    except LinkConfigError as error:
        detail = str(error)
        if "in use" in detail:
            detail = f"another daemon runs in {runtime_dir}: stop it, or set another runtime_dir"
        raise SettingsError([Problem("runtime_dir", "", detail)]) from error

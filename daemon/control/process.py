"""The process ``hmas daemon``: signals in, exit code out."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable

import uvloop

from hmas.daemon.control.service import Daemon
from hmas.daemon.settings import Settings
from hmas.daemon.supervise.notify import Notifier
from hmas.engine.clock import SystemClock

log = logging.getLogger(__name__)

Reload = Callable[[], Settings]


def run_daemon(settings: Settings, reload: Reload) -> None:
    """Run until SIGTERM or SIGINT; SIGHUP calls ``reload`` for new settings.

    Raises:
        SettingsError: it cannot start with these settings.
    """
    uvloop.run(_main(settings, reload))


async def _main(settings: Settings, reload: Reload) -> None:
    daemon = Daemon(settings, SystemClock(), Notifier())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, daemon.stop)
    loop.add_signal_handler(signal.SIGHUP, lambda: daemon.reload(reload))
    await daemon.run()

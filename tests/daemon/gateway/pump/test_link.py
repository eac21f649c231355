from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from hmas.daemon.gateway.pump.link import PumpLink
from hmas.engine.clock import FakeClock
from hmas.engine.link.config import LinkConfig
from hmas.engine.link.sockets import claim
from tests.daemon.gateway.pump.support import Station


async def test_an_address_that_is_taken_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = LinkConfig.local("e", tmp_path / "run")
    held = claim(tmp_path / "run" / "e.control")
    station = Station()
    link = PumpLink(config, FakeClock(), "boot")
    running = station.tasks.start(link.run(station.pump), name="link")
    try:
        async with asyncio.timeout(10):
            while "takes no directives" not in caplog.text:  # noqa: ASYNC110  a log line
                await asyncio.sleep(0.01)
        assert not link.is_bound
        await station.come("r")
        assert station.order == ["r"]
    finally:
        os.close(held)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

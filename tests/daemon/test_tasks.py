"""Background tasks are kept, counted and ended together."""

from __future__ import annotations

import asyncio
import logging

import pytest

from hmas.daemon.tasks import BackgroundTasks


async def test_a_failure_is_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise RuntimeError("no such engine")

    tasks = BackgroundTasks("links")
    with caplog.at_level(logging.ERROR):
        await asyncio.wait([tasks.spawn(fail(), "engine0")])
        await asyncio.sleep(0)
    assert tasks.failures == 1
    assert len(tasks) == 0
    assert "links:engine0 failed" in caplog.text


async def test_close_cancels_what_runs_without_counting_it() -> None:
    tasks = BackgroundTasks("links")
    task = tasks.spawn(asyncio.Event().wait(), "forever")
    assert len(tasks) == 1
    await tasks.close()
    assert task.cancelled()
    assert tasks.failures == 0
    assert len(tasks) == 0

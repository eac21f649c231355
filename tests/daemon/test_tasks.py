from __future__ import annotations

import asyncio
import logging

import pytest

from hmas.daemon.tasks import Tasks


async def test_returns_the_result() -> None:
    tasks = Tasks()

    async def answer() -> int:
        return 42

    assert await tasks.start(answer(), name="answer") == 42
    await asyncio.sleep(0)
    assert len(tasks) == 0
    assert tasks.failures == 0


async def test_counts_and_logs_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    tasks = Tasks()

    async def broken() -> None:
        raise RuntimeError("the disk is gone")

    with caplog.at_level(logging.ERROR, logger="hmas.tasks"):
        await asyncio.wait([tasks.start(broken(), name="broken")])
        await asyncio.sleep(0)
    assert tasks.failures == 1
    assert "task broken failed" in caplog.text
    assert "the disk is gone" in caplog.text


async def test_close_cancels_what_runs_and_counts_no_failure() -> None:
    tasks = Tasks()
    forever = tasks.start(asyncio.Event().wait(), name="forever")
    await tasks.close()
    assert forever.cancelled()
    assert tasks.failures == 0


async def test_close_from_inside_a_task_does_not_cancel_the_caller() -> None:
    tasks = Tasks()

    async def closes() -> str:
        await tasks.close()
        return "done"

    assert await tasks.start(closes(), name="closes") == "done"

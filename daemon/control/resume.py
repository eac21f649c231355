"""What a restarted daemon takes up again; a database that does not answer is no obstacle."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

import msgspec

from hmas.controllers.decisions import ResumeState
from hmas.daemon.control.overrides import OverrideBook
from hmas.daemon.control.records import resume_state
from hmas.engine.topologies import BASELINE
from hmas.storage.errors import StorageError
from hmas.storage.store import DirectiveReader, OverrideReader, ResumeReader

log = logging.getLogger(__name__)


class ResumeSource(ResumeReader, DirectiveReader, OverrideReader, Protocol):
    """What resuming reads of a store."""


OpenStore = Callable[[], ResumeSource]
"""The store, or :class:`~hmas.storage.errors.StoreUnavailableError`; may block."""


async def resumed_overrides(store: OpenStore, now_s: float) -> OverrideBook:
    """Pins, fixed controls and kill switches that still hold."""
    try:
        return OverrideBook(await asyncio.to_thread(lambda: store().active_overrides(now_s)))
    except StorageError as error:
        log.error("starting without the stored overrides: %s", error)
        return OverrideBook()


async def resumed_state(store: OpenStore, engine_id: str) -> ResumeState | None:
    """D_b, topology and versions of one engine; None: nothing is known of it."""
    try:
        return await asyncio.to_thread(lambda: _read(store(), engine_id))
    except StorageError as error:
        log.error("%s starts without its stored state: %s", engine_id, error)
        return None


def _read(store: ResumeSource, engine_id: str) -> ResumeState | None:
    record, version = store.resume(engine_id), store.last_version(engine_id)
    if record is not None:
        try:
            return resume_state(record, store.calibration(engine_id), version)
        except msgspec.ValidationError as error:
            log.error("%s: stored state of another version is not used: %s", engine_id, error)
    if version == 0:
        return None
    return ResumeState(
        engine_id=engine_id, version=version, topology=BASELINE, stable_topology=BASELINE
    )

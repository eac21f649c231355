"""A store that opens when it can."""

from __future__ import annotations

import pytest

from hmas.daemon.control.late_store import LateStore
from hmas.storage.errors import StoreUnavailableError
from hmas.storage.memory import MemoryStore
from hmas.storage.records import AuditRecord
from hmas.storage.store import Store

ROW = AuditRecord(id="a", at_s=1.0, actor="op", action="x", target="y")


def test_it_is_tried_again_until_it_opens_and_then_kept() -> None:
    inner = MemoryStore()
    tries = 0

    def opening() -> Store:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise StoreUnavailableError("sqlite:////x", "locked")
        return inner

    store = LateStore(opening)
    for _ in range(2):
        with pytest.raises(StoreUnavailableError, match="locked"):
            store.append([ROW])
    store.append([ROW])
    assert store.open() is inner
    assert tries == 3
    assert inner.audit() == [ROW]
    store.close()
    store.close()

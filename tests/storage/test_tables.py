"""Tables follow the records field by field."""

from __future__ import annotations

import pytest

from hmas.storage.records import RECORD_TYPES, Record
from hmas.storage.tables import ROWS, Row, table_of


def test_every_kind_has_its_table() -> None:
    assert set(ROWS) == set(RECORD_TYPES)
    assert len(Row.metadata.tables) == len(RECORD_TYPES)


@pytest.mark.parametrize("record_type", RECORD_TYPES, ids=lambda kind: kind.record_kind)
def test_columns_are_the_fields_and_the_key_is_the_key(record_type: type[Record]) -> None:
    table = table_of(record_type)
    assert set(table.columns.keys()) == set(record_type.__struct_fields__)
    assert {column.name for column in table.primary_key} == set(record_type.key_fields)

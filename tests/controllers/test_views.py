from __future__ import annotations

import msgspec
import pytest

from hmas.controllers.views import LengthMix, VLong, VShort
from tests.controllers.support import long, short


def test_what_was_not_measured_is_none_and_not_zero() -> None:
    view = VShort(at_s=1.0, engine_id="e")
    counted = {"samples", "event_gaps"}
    for name in view.__struct_fields__:
        value = getattr(view, name)
        assert (
            name in counted | {"at_s"}
            or value is None
            or not isinstance(value, int | float)
            or (isinstance(value, bool))
        ), name


def test_views_travel_as_json_and_are_frozen() -> None:
    for view, kind in ((short(violation_rate=0.5), VShort), (long(hol_index=0.1), VLong)):
        assert msgspec.json.decode(msgspec.json.encode(view), type=kind) == view
        with pytest.raises(AttributeError):
            view.engine_id = "other"  # type: ignore[misc]


def test_duration_and_variation() -> None:
    assert long(20.0).duration_s == 10.0
    assert LengthMix(shares={}, mean=10.0, variance=25.0).variation == pytest.approx(0.5)
    assert LengthMix(shares={}).variation is None
    assert LengthMix(shares={}, mean=0.0, variance=0.0).variation is None

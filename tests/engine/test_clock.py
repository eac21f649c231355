from __future__ import annotations

import pytest

from hmas.engine.clock import FakeClock, SystemClock


def test_a_fake_clock_moves_only_when_told() -> None:
    clock = FakeClock(10.0)
    assert clock.now_s() == clock.now_s() == 10.0
    clock.advance(2.5)
    assert clock.now_s() == 12.5
    with pytest.raises(ValueError, match="cannot go back"):
        clock.advance(-1)
    clock.set(3.0)
    assert clock.now_s() == 3.0


def test_the_system_clock_is_the_epoch() -> None:
    assert SystemClock().now_s() > 1.7e9

from __future__ import annotations

import msgspec

from hmas.controllers.overrides import (
    NO_OVERRIDES,
    ControlOverride,
    KillSwitch,
    Overrides,
    Pin,
    expiry_words,
)
from hmas.engine.directive import Controls

PIN = Pin(topology="sjf", reason="test", owner="alice", created_at_s=0.0, expires_at_s=100.0)
KILL = KillSwitch(reason="test", owner="bob", created_at_s=0.0)
NOON_S = 12 * 3600.0


def test_what_expired_is_gone_and_the_rest_stays() -> None:
    both = Overrides(pin=PIN, kill_switch=KILL)
    assert both.active(99.0) is both
    assert both.active(100.0) == Overrides(kill_switch=KILL)
    assert NO_OVERRIDES.active(1e12) is NO_OVERRIDES


def test_an_override_replaces_only_what_it_names() -> None:
    controls = Controls(n_run=100, token_budget=2048, fence={0: 5}, kv_margin=0.02)
    override = ControlOverride(n_run=8, reason="r", owner="o", created_at_s=0.0)
    assert override.apply(controls) == msgspec.structs.replace(controls, n_run=8)
    unfenced = ControlOverride(fence=False, reason="r", owner="o", created_at_s=0.0)
    assert unfenced.apply(controls).fence is None


def test_expiry_in_words() -> None:
    pin = msgspec.structs.replace(PIN, expires_at_s=NOON_S)
    assert expiry_words(pin) == "until 12:00 UTC"
    tomorrow = msgspec.structs.replace(PIN, expires_at_s=NOON_S + 86_400)
    assert expiry_words(tomorrow) == "until 1970-01-02 12:00 UTC"
    assert expiry_words(KILL) == "until it is lifted"


def test_overrides_travel_as_json() -> None:
    overrides = Overrides(pin=PIN, kill_switch=KILL)
    assert msgspec.json.decode(msgspec.json.encode(overrides), type=Overrides) == overrides

"""What an operator imposes on an engine: pin, controls, kill switch. All of it expires."""

from __future__ import annotations

import time

import msgspec

from hmas.engine.directive import Controls, Hints
from hmas.engine.features import ShortText


class Pin(msgspec.Struct, frozen=True, kw_only=True, tag="pin"):
    """Holds one topology; ``expires_at_s`` None: until unpinned."""

    topology: ShortText
    hints: Hints = {}
    reason: str
    owner: str
    created_at_s: float
    expires_at_s: float | None = None


class ControlOverride(msgspec.Struct, frozen=True, kw_only=True, tag="controls"):
    """Replaces single controls; a field that is None stays with the controllers."""

    n_run: int | None = None
    token_budget: int | None = None
    kv_margin: float | None = None
    tpot_guard: float | None = None
    fence: bool | None = None
    reason: str
    owner: str
    created_at_s: float
    expires_at_s: float | None = None

    def apply(self, controls: Controls) -> Controls:
        """``controls`` with the overridden fields; ``fence=False`` switches admission off."""
        names = ("n_run", "token_budget", "kv_margin", "tpot_guard")
        changes = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.fence is False:
            changes["fence"] = None
        return msgspec.structs.replace(controls, **changes)


class KillSwitch(msgspec.Struct, frozen=True, kw_only=True, tag="kill_switch"):
    """Forces bypass: FCFS with unbounded controls, above everything else."""

    reason: str
    owner: str
    created_at_s: float
    expires_at_s: float | None = None


Override = Pin | ControlOverride | KillSwitch


def is_active(override: Override, now_s: float) -> bool:
    return override.expires_at_s is None or now_s < override.expires_at_s


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """All overrides of one engine."""

    pin: Pin | None = None
    controls: ControlOverride | None = None
    kill_switch: KillSwitch | None = None

    def active(self, now_s: float) -> Overrides:
        """Without what has expired."""
        if all(
            o is None or is_active(o, now_s) for o in (self.pin, self.controls, self.kill_switch)
        ):
            return self
        return Overrides(
            pin=self.pin if self.pin and is_active(self.pin, now_s) else None,
            controls=self.controls if self.controls and is_active(self.controls, now_s) else None,
            kill_switch=self.kill_switch
            if self.kill_switch and is_active(self.kill_switch, now_s)
            else None,
        )


NO_OVERRIDES = Overrides()


def expiry_words(override: Override) -> str:
    """``until 14:00 UTC`` (with the date when it is another day), or ``until unpinned``."""
    if override.expires_at_s is None:
        return "until it is lifted"
    end = time.gmtime(override.expires_at_s)
    same_day = time.gmtime(override.created_at_s)[:3] == end[:3]
    return time.strftime("until %H:%M UTC" if same_day else "until %Y-%m-%d %H:%M UTC", end)

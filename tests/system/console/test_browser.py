"""An operator at work: a real browser, daemon and (simulated) engine.

What the browser does is checked at the engine, through its own control link. Leaves pictures of
both pages in ``out/screenshots``.
"""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from hmas.engine.directive import UNBOUNDED, Directive
from tests.system.console.browser import HEIGHT, WIDTH, Console
from tests.system.console.stack import Stack, eventually

pytestmark = pytest.mark.browser


def size_of(png: Path) -> tuple[int, int]:
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    return width, height


def active(stack: Stack) -> Directive:
    directive = stack.engine().active
    assert directive is not None
    return directive


def pin(console: Console, topology: str, reason: str) -> None:
    console.choose("pin-topology", topology)
    console.shows(f"Pin {topology} on all engines")
    console.write("pin-reason", reason)
    console.press(".st-key-pin button", f"Pin {topology}")


def test_nothing_is_shown_without_a_token(visitor: Console) -> None:
    visitor.log_in("not-the-right-token")
    visitor.shows("This token is not known.")
    assert "sim0" not in visitor.text()
    assert size_of(visitor.screenshot("login")) == (WIDTH, HEIGHT)


def test_pinning_in_the_browser_changes_the_engine(console: Console, stack: Stack) -> None:
    eventually("the engine has a directive", lambda: stack.engine().active)
    before = active(stack)
    other = "wfq" if before.topology != "wfq" else "sjf"
    console.go("Control")
    pin(console, other, "tenant acme crowds out the others")
    eventually(f"the engine runs {other}", lambda: active(stack).topology == other)
    assert active(stack).version > before.version
    console.shows(f"Pin {other} on all engines")
    console.shows("59 min left")
    console.press("[class*='st-key-cancel-'] button", "Remove")
    console.shows("Nothing is overridden")
    eventually("the pin is gone", lambda: active(stack).version > before.version + 1)


def test_controls_fixed_in_the_browser_reach_the_engine(console: Console, stack: Stack) -> None:
    console.go("Control")
    console.press("[role='tab']", "Fix controls")
    console.write("controls-N_run", "17")
    console.write("controls-reason", "KV cache thrashes")
    console.press(".st-key-fix button", "Fix on all engines")
    eventually("N_run is 17", lambda: active(stack).controls.n_run == 17)
    console.press("[class*='st-key-cancel-'] button", "Remove")
    eventually("N_run is free again", lambda: active(stack).controls.n_run != 17)


def test_the_bypass_is_armed_pressed_seen_and_ended(console: Console, stack: Stack) -> None:
    console.go("Control")
    console.press("[role='tab']", "Bypass")
    console.write("bypass-reason", "incident 4711")
    console.press(".st-key-bypass-armed label")
    console.press(".st-key-bypass button", "Bypass all engines now")
    eventually("the engine runs bypass", lambda: active(stack).bypass)
    assert active(stack).controls == UNBOUNDED
    console.shows("sim0 runs in BYPASS")
    console.screenshot("control-bypass")
    console.press("[class*='st-key-cancel-'] button", "Remove")
    eventually("the bypass is over", lambda: not active(stack).bypass)
    console.shows_no_more("sim0 runs in BYPASS")


def test_both_pages_under_load(console: Console) -> None:
    console.go("Control")
    pin(console, "edf", "deadline misses since 14:00")
    console.shows("59 min left")
    console.press(".st-key-decisions button")
    console.shows("Proposals")
    control = console.screenshot("control")
    console.go("Live")
    console.press(".st-key-span button", "5 min")
    console.shows("set by operator pin")
    console.drawn(points=30, span_s=300)
    live = console.screenshot("live")
    assert size_of(live) == size_of(control) == (WIDTH, HEIGHT)
    assert console.foreign_requests() == []
    assert console.errors() == []

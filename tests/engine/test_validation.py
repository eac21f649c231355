from __future__ import annotations

from typing import Any

import pytest

from hmas.engine.directive import Controls, StepModel
from hmas.engine.validation import InvalidDirectiveError, checked
from tests.engine.support import LIMITS, directive


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"topology": "magic"}, "magic"),
        ({"topology": "edf", "hints": {"speed": 1}}, "speed"),
        ({"topology": "two_lane", "hints": {"fast_share": 2}}, "fast_share"),
        ({"controls": Controls(n_run=65)}, r"controls.n_run must lie in \[1, 64\], got 65"),
        ({"controls": Controls(token_budget=4096)}, "controls.token_budget"),
        ({"controls": Controls(fence={})}, "controls.fence is empty"),
        ({"controls": Controls(fence={0: 10**9})}, r"controls.fence\[0\]"),
        ({"controls": Controls(kv_margin=0.95)}, "controls.kv_margin"),
        ({"controls": Controls(tpot_guard=float("nan"))}, "controls.tpot_guard"),
        (
            {
                "controls": Controls(
                    step_model=StepModel(
                        base_ms=-1, prefill_ms=0, context_ms=0, sequence_ms=float("inf")
                    )
                )
            },
            "controls.step_model.base_ms",
        ),
    ],
)
def test_what_the_engine_cannot_do_is_refused_by_name(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidDirectiveError, match=named):
        checked(directive(**fields), LIMITS)


def test_the_limits_themselves_are_allowed() -> None:
    controls = Controls(n_run=64, token_budget=2048, fence={0: -5}, kv_margin=0.9)
    good = directive(topology="wfq", controls=controls)
    assert checked(good, LIMITS) is good

from __future__ import annotations

import json

from hmas.controllers.meta.prompt_inputs import prompt_inputs
from hmas.controllers.views import GroupView
from hmas.prompts.load import load_example, load_prompt
from tests.controllers.support import context, long, short


def test_inputs_are_those_of_the_template_and_render() -> None:
    inputs = prompt_inputs(context(long()), 0.6)
    prompt = load_prompt("meta_controller")
    assert inputs.keys() == prompt.inputs.keys()
    assert "`edf` fights deadline misses" in prompt.render(inputs)


def test_the_shipped_example_has_the_shape_of_real_inputs() -> None:
    example, inputs = load_example("meta_controller"), prompt_inputs(context(long()), 0.6)
    assert example.keys() == inputs.keys()
    assert example["summary"].keys() == inputs["summary"].keys()
    assert example["windows"][0].keys() == inputs["windows"][0].keys()


def test_no_names_and_no_engine_messages_reach_the_prompt() -> None:
    tenants = {"ACME-secret": GroupView(share=1.0, samples=9, violation_rate=0.25)}
    view = short(doubt="ACME-secret in a traceback")
    text = json.dumps(prompt_inputs(context(long(tenants=tenants), v_short=view), 0.6))
    assert "ACME" not in text
    assert '"worst_tenant_violation_rate": 0.25' in text


def test_blocked_switches_and_quarantine_are_told() -> None:
    blocked = context(
        long(), switching_allowed=False, blocked_by="cool-down", quarantined={"sjf": 9.0}
    )
    text = load_prompt("meta_controller").render(prompt_inputs(blocked, 0.6))
    assert "A switch would be refused now (cool-down)" in text
    assert "Failed recently and refused: sjf." in text
    assert "`sjf` fights" not in text

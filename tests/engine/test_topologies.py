"""The life of a pool under every topology of Ω, against a model without a heap.

``HMAS_LONG_TESTS=1`` runs more than 10^5 operations.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hmas.engine.topologies import QueuedRequest, hint_bounds, topology_class, topology_names
from tests.engine.support import core, queued
from tests.engine.topologies.models import MODELS, Model

LONG = os.environ.get("HMAS_LONG_TESTS") == "1"
EXAMPLES, STEPS = (130, 60) if LONG else (15, 40)

request_fields = st.fixed_dictionaries(
    {
        "tenant": st.sampled_from(["a", "b", "c"]),
        "tenant_weight": st.sampled_from([0.5, 1.0, 4.0]),
        "priority": st.integers(-2, 2),
        "slo_ttft_ms": st.sampled_from([100, 2000, 20_000, 1e6]),
        "prompt_tokens": st.integers(1, 4000),
        "predicted_output_tokens": st.integers(0, 2000),
        "predicted_tpot_ms": st.integers(1, 100),
        "predicted_ttft_ms": st.integers(1, 5000),
    }
)


@st.composite
def hints_of(draw: st.DrawFn, name: str) -> dict[str, float]:
    """Defaults, or any values within the bounds; lanes are split where the model knows it."""
    specs = topology_class(name).HINTS
    bounds = hint_bounds(name)
    chosen = draw(st.sets(st.sampled_from(sorted(bounds)))) if bounds else set()
    hints = {}
    for hint in sorted(chosen):
        low, high = bounds[hint]
        middle = specs[hint].default
        hints[hint] = draw(st.sampled_from([low, min(high, middle * 2), middle, high]))
    if name == "two_lane":
        hints["split_s"] = 5.0
    return hints


class PoolMachine(RuleBasedStateMachine):
    """Nothing is lost or doubled, and who comes next is who the model says."""

    name = ""

    def __init__(self) -> None:
        super().__init__()
        self.core = core()
        self.model: Model
        self.taken: list[QueuedRequest] = []
        self.now_s = 0.0
        self.count = 0
        self.births: dict[QueuedRequest, tuple[int, int]] = {}

    @property
    def topology(self) -> Any:
        return self.core.topology

    @property
    def waiting(self) -> list[QueuedRequest]:
        return [*self.model.front, *self.model.rest]

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.model = MODELS[self.name](self.name, {})
        self.swap(data)

    @rule(data=st.data())
    def swap(self, data: st.DataObject) -> None:
        """Other hints, or another topology in between."""
        hints = data.draw(hints_of(self.name))
        if data.draw(st.booleans()):
            self.core.swap(data.draw(st.sampled_from(topology_names())), {}, self.now_s)
        self.core.swap(self.name, hints, self.now_s)
        before, self.model = self.model, MODELS[self.name](self.name, hints)
        self.model.now_s = self.now_s
        for request in before.rest:
            self.model.add(request)
        self.model.front = before.front
        self.births = {r: (0, index) for index, r in enumerate(self.model.rest)}

    @rule(fields=request_fields)
    def add(self, fields: dict[str, Any]) -> None:
        self.count += 1
        self._add(queued(f"r{self.count}", arrival_s=self.now_s, **fields))

    @rule(seconds=st.sampled_from([0.01, 0.5, 1.0, 7.0, 70.0]))
    def time_passes(self, seconds: float) -> None:
        self.now_s += seconds
        self.model.pass_time(self.now_s)

    @precondition(lambda self: self.waiting)
    @rule()
    def admit_the_next(self) -> None:
        expected = self.model.next()
        shown = self.topology.peek(self.now_s)
        assert expected is NotImplemented or shown is expected
        assert shown in self.waiting
        assert self.topology.pop(self.now_s) is shown
        self._took(shown)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def admit_another(self, data: st.DataObject) -> None:
        """As admission does when the next one does not fit."""
        request = data.draw(st.sampled_from(self.waiting))
        self.topology.take(request)
        self._took(request)
        self.births.clear()

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        request = self._one_taken(data)
        self.core.requeue(request)
        self.model.requeue(request)
        assert self.topology.peek(self.now_s) is request

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), produced=st.integers(1, 3000))
    def preempt(self, data: st.DataObject, produced: int) -> None:
        request = self._one_taken(data)
        request.produced = produced
        self._add(request)

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), output_tokens=st.integers(1, 3000))
    def finish(self, data: st.DataObject, output_tokens: int) -> None:
        request = self._one_taken(data)
        self.topology.ended(request, output_tokens)
        self.model.ended(request, output_tokens)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def abort(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(self.waiting))
        assert self.topology.remove(request)
        assert not self.topology.remove(request)
        self.model.remove(request)
        self.births.pop(request, None)

    @invariant()
    def holds_exactly_what_waits(self) -> None:
        waiting = self.waiting
        ordered = list(self.topology.ordered(self.now_s))
        assert len(self.topology) == len(ordered) == len(waiting)
        assert set(ordered) == set(waiting)
        assert ordered[: len(self.model.front)] == self.model.front == self.topology.front()
        assert self.topology.by_arrival() == self.model.rest
        if self.model.next() is not NotImplemented:
            assert ordered[len(self.model.front) :] == self.model.order()

    @invariant()
    def nobody_starves(self) -> None:
        aging_every = int(self.model.hints.get("aging_every", 1))
        for begun, older in self.births.values():
            assert self.model.admitted - begun <= aging_every * (older + 1)

    def _add(self, request: QueuedRequest) -> None:
        self.births[request] = (self.model.admitted, len(self.model.rest))
        self.core.add(request, self.now_s)
        self.model.add(request)

    def _took(self, request: QueuedRequest) -> None:
        self.model.take(request)
        self.taken.append(request)
        self.births.pop(request, None)

    def _one_taken(self, data: st.DataObject) -> QueuedRequest:
        return self.taken.pop(data.draw(st.integers(0, len(self.taken) - 1)))


@pytest.mark.parametrize("name", topology_names())
def test_every_order_is_what_its_model_says(name: str) -> None:
    machine = type(name, (PoolMachine,), {"name": name})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

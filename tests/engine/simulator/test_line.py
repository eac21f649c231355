import pytest

from hmas.engine.core import Identity
from hmas.engine.simulator.line import CoreLine, StockLine
from hmas.engine.simulator.sequence import Sequence
from tests.engine.simulator.support import profile, sim_request

IDENTITY = Identity("e", "boot", "simulator", "1", "small")


@pytest.fixture(params=["stock", "core"])
def line(request):
    limits = profile().limits
    if request.param == "stock":
        return StockLine(IDENTITY, limits)
    return CoreLine(IDENTITY, limits, lambda sequence: sequence.tokens)


def sequence(number: int) -> Sequence:
    request = sim_request(f"r{number}", 10, 5, arrival_s=float(number))
    return Sequence(request, 5, float(number), number=number, payload=None)


def test_first_come_first_served_with_the_preempted_in_front(line):
    first, second, third = (sequence(number) for number in (1, 2, 3))
    for entry in (first, second, third):
        line.add(entry, 0.0)
    assert line.head(0.0) is first
    line.start(first)
    line.start(second)
    line.requeue(second)
    line.requeue(first)
    order = []
    while (head := line.head(0.0)) is not None:
        line.start(head)
        order.append(head)
    assert order == [first, second, third]


def test_forgetting_a_waiting_sequence_and_one_that_ran(line):
    first, second = sequence(1), sequence(2)
    line.add(first, 0.0)
    line.add(second, 0.0)
    line.forget(first)
    assert line.head(0.0) is second
    line.start(second)
    second.computed = 10
    line.forget(second)
    assert (len(line), line.head(0.0)) == (0, None)


def test_unbounded_step_has_the_limits_of_the_profile(line):
    controls = line.begin_step(0.0, 0, 0, 0)
    assert (controls.n_run, controls.token_budget) == (4, 64)
    active = line.active()
    assert (active.directive_version, active.topology, active.bypass) == (0, "fcfs", False)
    assert not line.check_lease(0.0)


def test_core_line_wants_sequences_it_knows():
    line = CoreLine(IDENTITY, profile().limits, lambda entry: entry.tokens)
    with pytest.raises(ValueError, match="never added"):
        line.requeue(sequence(1))

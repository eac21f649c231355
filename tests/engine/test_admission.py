from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.admission import AdmissionFence
from hmas.engine.directive import Controls
from hmas.engine.topologies import QueuedRequest
from tests.engine.support import LIMITS, queued


class Held:
    """What a host's payload knows: tokens held now, and the client's own limit."""

    def __init__(self, tokens: int, limit: int | None = None) -> None:
        self.tokens = tokens
        self.limit = limit


def fence(quantile: int | None = 0, margin: float = 0.0) -> AdmissionFence:
    made = AdmissionFence(LIMITS, lambda r: r.payload.tokens, lambda r: r.payload.limit)
    controls = Controls(fence=None if quantile is None else {0: quantile}, kv_margin=margin)
    made.configure(controls)
    return made


def request(prompt: int, output: int, limit: int | None = None) -> QueuedRequest:
    made = queued(prompt_tokens=prompt, predicted_output_tokens=output)
    made.payload = Held(prompt, limit)
    return made


def test_the_bound_is_prediction_plus_quantile_within_the_clients_limit() -> None:
    made = fence(quantile=60)
    assert made.upper_output_tokens(request(100, 40)) == 100
    assert made.upper_output_tokens(request(100, 40, limit=50)) == 50
    assert made.upper_output_tokens(request(100, 0, limit=0)) == 1
    assert made.need_blocks(request(100, 40)) == 13  # ceil(200 / 16)
    assert made.need_blocks(request(4000, 4000)) == 256  # max_model_len / 16


def test_admits_up_to_capacity_less_margin() -> None:
    made = fence(margin=0.5)
    each = 60  # 960 tokens
    for _ in range(8):
        candidate = request(480, 480)
        assert made.need_blocks(candidate) == each
        assert made.fits(candidate)
        made.start(candidate)
    assert made.booked_blocks == 480
    assert not made.fits(request(480, 480))
    assert made.admissible([request(160, 160), request(480, 480)], limit=5) == 1


def test_without_a_fence_everything_fits() -> None:
    made = fence(quantile=None)
    made.start(request(4000, 4000))
    for _ in range(50):
        made.start(request(4000, 4000))
    assert made.fits(request(4000, 4000))


def test_one_that_is_too_large_may_run_alone() -> None:
    made = fence(margin=0.9)
    assert made.need_blocks(request(3000, 1000)) > made.capacity_blocks
    assert made.fits(request(3000, 1000))
    assert made.admissible([request(3000, 1000), request(1, 1)], limit=5) == 1


def test_a_request_that_outgrows_its_bound_is_booked_anew() -> None:
    made = fence()
    runner = request(16, 16)
    made.start(runner)
    assert made.booked_blocks == 2
    for _ in range(200):
        runner.payload.tokens += 1
        made.step()
        assert made.booked_blocks * 16 + 1 >= runner.payload.tokens
    made.release(runner)
    made.release(runner)
    assert made.booked_blocks == 0


def test_upkeep_does_not_pile_up() -> None:
    made = fence()
    runners = [request(100, 100) for _ in range(20)]
    for runner in runners:
        made.start(runner)
    for quantile in range(300):
        made.configure(Controls(fence={0: quantile}))
        made.step()
    for runner in runners:
        made.release(runner)
    for _ in range(600):
        made.step()
    assert len(made._outgrow) <= 20
    assert not made._watched


@given(st.lists(st.tuples(st.integers(1, 2000), st.integers(0, 2000), st.booleans()), max_size=60))
def test_booked_blocks_are_the_sum_over_what_runs(
    moves: list[tuple[int, int, bool]],
) -> None:
    made, running = fence(quantile=10), []
    for prompt, output, leave in moves:
        candidate = request(prompt, output)
        if made.fits(candidate):
            made.start(candidate)
            running.append(candidate)
        if leave and running:
            made.release(running.pop(0))
        made.step()
        alone = len(running) == 1
        assert made.booked_blocks <= made.capacity_blocks or alone
        assert made.booked_blocks == sum(made.need_blocks(r) for r in running)

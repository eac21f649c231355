"""The invented load stays within what an engine could report."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from hmas.daemon.admin.memory_load import LIMITS, PHASES, Applied, Load, advance, phase_topology

applied = st.builds(
    Applied,
    topology=st.sampled_from(PHASES),
    bypass=st.booleans(),
    n_run=st.none() | st.integers(1, LIMITS.max_num_seqs),
    token_budget=st.none() | st.integers(1, LIMITS.max_num_batched_tokens),
)


@given(st.lists(applied, max_size=60), st.integers(0, 1000))
def test_every_second_is_plausible(seconds: list[Applied], seed: int) -> None:
    rng, load = random.Random(seed), Load()
    for at_s, what in enumerate(seconds):
        load, view = advance(load, what, float(at_s), 0.0, rng)
        shares = (view.kv_used, view.busy_fraction, view.goodput_rate, view.violation_rate)
        assert all(share is not None and 0 <= share <= 1 for share in shares)
        assert view.queue_length is not None
        assert view.queue_length >= 0
        assert view.running is not None
        assert 0 <= view.running <= LIMITS.max_num_seqs
        assert (view.n_run is None) == what.bypass
        if what.n_run is not None and not what.bypass:
            assert view.n_run == what.n_run


def test_the_right_topology_serves_more() -> None:
    queues = []
    for topology in (phase_topology(0.0, 0.0), "sjf"):
        rng, load = random.Random(1), Load(n_run=128)
        for at_s in range(60):
            load, _ = advance(load, Applied(topology), float(at_s), 0.0, rng)
        queues.append(load.queue)
    assert queues[0] < queues[1]

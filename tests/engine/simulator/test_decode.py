from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.simulator.decode import DecodeSet
from hmas.engine.simulator.sequence import Sequence
from tests.engine.simulator.support import sim_request

BLOCK = 4


def after_prefill(prompt: int, output: int, number: int = 1) -> Sequence:
    sequence = Sequence(
        sim_request(f"r{number}", prompt, output), output, 0.0, number=number, payload=None
    )
    sequence.computed, sequence.produced = prompt, 1
    return sequence


members = st.lists(
    st.tuples(st.integers(1, 20), st.integers(2, 30), st.integers(0, 10)), min_size=1, max_size=8
)


@given(members, st.integers(0, 7), st.integers(0, 40))
def test_counting_rounds_equals_walking_members(entries, leaver, leave_at):
    """Against the obvious simulation: one dictionary entry per member, one token per round."""
    decodes = DecodeSet(BLOCK)
    waiting = {
        number: (joins_at, after_prefill(prompt, output, number))
        for number, (prompt, output, joins_at) in enumerate(entries, start=1)
    }
    naive: dict[Sequence, list[int]] = {}
    for now in range(60):
        for number in [n for n, (joins_at, _) in waiting.items() if joins_at == now]:
            sequence = waiting.pop(number)[1]
            naive[sequence] = [sequence.computed, sequence.produced]
            decodes.join(sequence)
        if now == leave_at and len(naive) > leaver:
            sequence = list(naive)[leaver]
            computed, produced = naive.pop(sequence)
            decodes.leave(sequence)
            assert (sequence.computed, sequence.produced) == (computed, produced)
        assert decodes.count == len(naive)
        assert decodes.context_tokens == sum(computed for computed, _ in naive.values())
        due = {sequence for sequence, (computed, _) in naive.items() if computed % BLOCK == 0}
        assert decodes.blocks_due() == len(due)
        assert all(decodes.needs_block(sequence) == (sequence in due) for sequence in naive)
        for sequence, counts in naive.items():
            assert [decodes.computed(sequence), decodes.produced(sequence)] == counts
            counts[0] += 1
            counts[1] += 1
        finished = [s for s, (_, produced) in naive.items() if produced == s.target]
        if naive:
            assert set(decodes.advance()) == set(finished)
        for sequence in finished:
            assert (sequence.computed, sequence.produced) == tuple(naive.pop(sequence))

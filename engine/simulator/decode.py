"""All sequences that generate, advanced together in O(1) per step."""

from __future__ import annotations

from hmas.engine.simulator.sequence import Sequence


class DecodeSet:
    """Every member gets one token per round, so rounds are counted instead of members walked.

    Whoever needs a new KV block does so every ``block_size`` rounds: a counter per residue of
    the round tells how many blocks the next round needs. Who finishes when is known at joining.
    """

    __slots__ = ("_block_size", "_due", "_last_rounds", "context_tokens", "count", "round")

    def __init__(self, block_size: int) -> None:
        self._block_size = block_size
        self._due = [0] * block_size
        self._last_rounds: dict[int, dict[Sequence, None]] = {}
        self.round = 0
        self.count = 0
        self.context_tokens = 0

    def join(self, sequence: Sequence) -> None:
        """From the next round on; at least one token must be left to generate."""
        sequence.decoding = True
        sequence.joined = self.round
        self.count += 1
        self.context_tokens += sequence.computed
        self._due[self._residue(sequence)] += 1
        self._last_rounds.setdefault(self._last_round(sequence), {})[sequence] = None

    def leave(self, sequence: Sequence) -> None:
        """Settle ``computed`` and ``produced`` and forget the sequence."""
        last = self._last_rounds.get(self._last_round(sequence))
        if last is not None:
            last.pop(sequence, None)
        self._settle(sequence)

    def advance(self) -> list[Sequence]:
        """One round for all; returns the settled sequences that have generated everything."""
        finished = list(self._last_rounds.pop(self.round, ()))
        self.round += 1
        self.context_tokens += self.count
        for sequence in finished:
            self._settle(sequence)
        return finished

    def blocks_due(self) -> int:
        """New KV blocks that the next round needs."""
        return self._due[self.round % self._block_size]

    def needs_block(self, sequence: Sequence) -> bool:
        """Whether this member is among those of :meth:`blocks_due`."""
        return (self.computed(sequence)) % self._block_size == 0

    def computed(self, sequence: Sequence) -> int:
        """Tokens in the KV cache now, member or not."""
        return sequence.computed + (self.round - sequence.joined if sequence.decoding else 0)

    def produced(self, sequence: Sequence) -> int:
        """Output tokens now, member or not."""
        return sequence.produced + (self.round - sequence.joined if sequence.decoding else 0)

    def _residue(self, sequence: Sequence) -> int:
        return (sequence.joined - sequence.computed) % self._block_size

    def _last_round(self, sequence: Sequence) -> int:
        return sequence.joined + sequence.target - sequence.produced - 1

    def _settle(self, sequence: Sequence) -> None:
        self._due[self._residue(sequence)] -= 1
        rounds = self.round - sequence.joined
        sequence.computed += rounds
        sequence.produced += rounds
        sequence.decoding = False
        self.count -= 1
        self.context_tokens -= sequence.computed

"""What runs in a simulated engine, and the KV blocks that it holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hmas.engine.directive import EngineLimits
from hmas.engine.simulator.decode import DecodeSet
from hmas.engine.simulator.kv import KvCache
from hmas.engine.simulator.sequence import Sequence


class Chunk(NamedTuple):
    """Part of a prompt that one step computes."""

    sequence: Sequence
    tokens: int


class Batch:
    """The running sequences in order of admission: decodes, and at most one unfinished prompt.

    An unfinished prompt is always the last admitted, because it took all of the token budget.
    """

    def __init__(self, limits: EngineLimits, *, caching: bool, unit_tokens: int | None) -> None:
        self.kv = KvCache(limits.kv_blocks, limits.block_size, unit_tokens)
        self.decodes = DecodeSet(limits.block_size)
        self.partial: Sequence | None = None
        self._caching = caching
        self._running: dict[Sequence, None] = {}

    def __len__(self) -> int:
        return len(self._running)

    def __contains__(self, sequence: Sequence) -> bool:
        return sequence in self._running

    def __iter__(self) -> Iterator[Sequence]:
        return iter(self._running)

    def grow_decodes(self) -> list[Sequence]:
        """Allocate what the next decode round needs; returns who was preempted for it."""
        kv, decodes = self.kv, self.decodes
        victims = self._make_room() if decodes.blocks_due() > kv.free else []
        kv.allocate(decodes.blocks_due())
        return victims

    def grow_partial(self, budget: int) -> Chunk | None:
        """The next chunk of the unfinished prompt; None when no memory is left for it."""
        sequence = self.partial
        if sequence is None:
            return None
        tokens = min(sequence.tokens - sequence.computed, budget)
        return Chunk(sequence, tokens) if self._extend(sequence, tokens) else None

    def start(self, sequence: Sequence, budget: int) -> Chunk | None:
        """Begin the prompt of a waiting sequence; None when it does not fit as a whole."""
        if not self._reserve(sequence):
            return None
        tokens = min(sequence.tokens - sequence.computed, budget)
        self._extend(sequence, tokens)
        self._running[sequence] = None
        return Chunk(sequence, tokens)

    def stop(self, sequence: Sequence) -> None:
        """Out of the batch; its memory is free again."""
        if sequence.decoding:
            self.decodes.leave(sequence)
        if sequence is self.partial:
            self.partial = None
        if self._caching:
            self._publish(sequence)
        del self._running[sequence]
        shared = len(sequence.units) * self.kv.unit_blocks
        self.kv.release(self.kv.blocks_of(sequence.computed) - shared)
        self.kv.drop(sequence.units)
        sequence.units = []

    def _make_room(self) -> list[Sequence]:
        """Walk the batch as vLLM does; who finds no free block makes the last admitted yield."""
        spare = self.kv.free
        victims: list[Sequence] = []
        for sequence in list(self._running):
            if sequence not in self._running:
                break
            if not sequence.decoding or not self.decodes.needs_block(sequence):
                continue
            while spare < 1 and sequence in self._running:
                victim = next(reversed(self._running))
                before = self.kv.free
                self.stop(victim)
                spare += self.kv.free - before
                victims.append(victim)
            spare -= sequence in self._running
        return victims

    def _reserve(self, sequence: Sequence) -> bool:
        """Hold the cached prefix, if all of the sequence fits the free KV cache."""
        kv, tokens = self.kv, sequence.tokens
        units = self._cached_units(sequence) if self._caching else []
        need = kv.blocks_of(tokens) - len(units) * kv.unit_blocks
        if need + kv.evictable_blocks(units) > kv.free:
            return False
        for unit in units:
            kv.hold(unit)
        sequence.units = units
        sequence.computed = len(units) * kv.unit_tokens
        if not sequence.preemptions:
            sequence.cached_tokens = sequence.computed
        return True

    def _extend(self, sequence: Sequence, tokens: int) -> bool:
        """Blocks for the next ``tokens`` of a prompt; False when they are not free."""
        kv, computed = self.kv, sequence.computed
        blocks = kv.blocks_of(computed + tokens) - kv.blocks_of(computed)
        if blocks > kv.free:
            return False
        kv.allocate(blocks)
        sequence.computed = computed + tokens
        self.partial = sequence if sequence.computed < sequence.tokens else None
        if self._caching:
            self._publish(sequence)
        return True

    def _cached_units(self, sequence: Sequence) -> list[int]:
        """Leading units that are in the cache; the last token is always computed anew."""
        units: list[int] = []
        for index in range((sequence.tokens - 1) // self.kv.unit_tokens):
            unit = sequence.unit(index)
            if not self.kv.is_cached(unit):
                break
            units.append(unit)
        return units

    def _publish(self, sequence: Sequence) -> None:
        """Units whose tokens are scheduled can be shared from now on, as in vLLM.

        Nobody else can use what lies behind the shared prefix, so decodes publish when they
        stop: a preempted request finds its own blocks again unless they were needed.
        """
        units = sequence.units
        whole = sequence.computed // self.kv.unit_tokens
        while len(units) < whole and self.kv.publish(sequence.unit(len(units))):
            units.append(sequence.unit(len(units)))

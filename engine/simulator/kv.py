"""Paged KV cache: counted blocks, and prefixes that outlive their request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class KvCache:
    """Blocks are counted, not named; only cached prefixes have an identity.

    A *unit* is the prefix block that one hash stands for: ``unit_tokens`` tokens, a multiple
    of the KV block. Units that nobody holds stay until their blocks are needed, least recently
    used first, and count as free (vLLM's automatic prefix caching).
    """

    def __init__(self, blocks: int, block_size: int, unit_tokens: int | None = None) -> None:
        self.blocks = blocks
        self.free = blocks
        self.block_size = block_size
        self.unit_tokens = unit_tokens or block_size
        if self.unit_tokens % block_size:
            raise ValueError(
                f"prefix blocks of {unit_tokens} tokens are no multiple of the KV"
                f" block of {block_size} tokens"
            )
        self.unit_blocks = self.unit_tokens // block_size
        self._unused = blocks
        self._holders: dict[int, int] = {}
        self._evictable: dict[int, None] = {}

    @property
    def used(self) -> float:
        """Share of the blocks that running requests hold."""
        return 1 - self.free / self.blocks

    def blocks_of(self, tokens: int) -> int:
        return -(-tokens // self.block_size)

    def allocate(self, blocks: int) -> None:
        """Take private blocks. Raises MemoryError when fewer are free."""
        if blocks > self.free:
            raise MemoryError(f"{blocks} KV blocks wanted, {self.free} free")
        self.free -= blocks
        self._unused -= blocks
        while self._unused < 0:
            oldest = next(iter(self._evictable))
            del self._evictable[oldest], self._holders[oldest]
            self._unused += self.unit_blocks

    def release(self, blocks: int) -> None:
        """Give private blocks back."""
        self.free += blocks
        self._unused += blocks

    def is_cached(self, unit: int) -> bool:
        return unit in self._holders

    def evictable_blocks(self, hashes: Iterable[int]) -> int:
        """Blocks that count as free now and will not once these units are held."""
        return self.unit_blocks * sum(unit in self._evictable for unit in hashes)

    def hold(self, unit: int) -> None:
        """Share a cached unit."""
        if unit in self._evictable:
            del self._evictable[unit]
            self.free -= self.unit_blocks
        self._holders[unit] += 1

    def publish(self, unit: int) -> bool:
        """Make the caller's private blocks of one unit shareable; False when it is cached."""
        if unit in self._holders:
            return False
        self._holders[unit] = 1
        return True

    def drop(self, units: Sequence[int]) -> None:
        """Stop holding; the end of a prefix is forgotten before its start."""
        for unit in reversed(units):
            self._holders[unit] -= 1
            if not self._holders[unit]:
                self._evictable[unit] = None
                self.free += self.unit_blocks

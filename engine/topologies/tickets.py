"""Draws by weight."""

from __future__ import annotations

from typing import Generic, TypeVar

Holder = TypeVar("Holder")


class TicketTree(Generic[Holder]):
    """Holders with tickets, drawn in proportion to them. O(log n) each.

    A binary tree of sums over slots: changing one slot adds up its path anew, so that no
    rounding error builds up.
    """

    def __init__(self) -> None:
        self._capacity = 1
        self._sums = [0.0, 0.0]
        self._holders: list[Holder | None] = [None]
        self._free = [0]

    def add(self, holder: Holder, tickets: float) -> int:
        """Slot of the new holder."""
        if not self._free:
            self._grow()
        slot = self._free.pop()
        self._holders[slot] = holder
        self.change(slot, tickets)
        return slot

    def change(self, slot: int, tickets: float) -> None:
        sums, node = self._sums, self._capacity + slot
        sums[node] = tickets
        while node > 1:
            node //= 2
            sums[node] = sums[2 * node] + sums[2 * node + 1]

    def drop(self, slot: int) -> None:
        self.change(slot, 0.0)
        self._holders[slot] = None
        self._free.append(slot)

    def draw(self, point: float) -> Holder | None:
        """Whose tickets lie at ``point`` of all, in [0, 1); None where there are none."""
        sums, node = self._sums, 1
        left = point * sums[1]
        while node < self._capacity:
            node *= 2
            if left >= sums[node] and sums[node + 1] > 0:
                left -= sums[node]
                node += 1
        return self._holders[node - self._capacity]

    def _grow(self) -> None:
        old, tickets = self._capacity, self._sums[self._capacity :]
        self._capacity = 2 * old
        self._sums = [0.0] * (2 * self._capacity)
        self._holders += [None] * old
        self._free = list(range(self._capacity - 1, old - 1, -1))
        for slot, count in enumerate(tickets):
            self.change(slot, count)

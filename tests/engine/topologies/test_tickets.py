from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.topologies.tickets import TicketTree

changes = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=60)


@given(changes, st.floats(0, 1, exclude_max=True))
def test_whoever_holds_the_point_wins(changes: list[tuple[int, int]], point: float) -> None:
    tree: TicketTree[int] = TicketTree()
    slots: dict[int, int] = {}
    tickets: dict[int, int] = {}
    for holder, count in changes:
        if count == 0 and holder in slots:
            tree.drop(slots.pop(holder))
            del tickets[holder]
        elif count and holder in slots:
            tree.change(slots[holder], count)
            tickets[holder] = count
        elif count:
            slots[holder] = tree.add(holder, count)
            tickets[holder] = count
    if not tickets:
        assert tree.draw(point) is None
        return
    left = point * sum(tickets.values())
    for holder in sorted(tickets, key=lambda one: slots[one]):
        if left < tickets[holder]:
            break
        left -= tickets[holder]
    assert tree.draw(point) == holder

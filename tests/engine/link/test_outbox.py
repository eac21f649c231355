from hypothesis import given
from hypothesis import strategies as st

from hmas.engine.clock import FakeClock
from hmas.engine.events import RequestFirstToken
from hmas.engine.link.outbox import BATCH_EVENTS, Outbox


def event(number: int) -> RequestFirstToken:
    return RequestFirstToken(at_s=0.0, request_id=str(number), ttft_s=0.0)


@given(st.lists(st.integers(min_value=0, max_value=2000), max_size=6))
def test_events_leave_once_in_order_in_numbered_batches(bursts: list[int]) -> None:
    outbox = Outbox("engine0", "boot", FakeClock(5.0), capacity=1500)
    kept: list[str] = []
    sent: list[str] = []
    sequences: list[int] = []
    dropped = 0
    for burst in bursts:
        for number in range(burst):
            outbox.put(event(number))
        kept += [str(number) for number in range(min(burst, 1500))]
        dropped += max(0, burst - 1500)
        for batch in outbox.batches():
            assert 0 < len(batch.events) <= BATCH_EVENTS
            assert batch.dropped == dropped
            sequences.append(batch.sequence)
            sent += [e.request_id for e in batch.events if isinstance(e, RequestFirstToken)]
    assert sent == kept
    assert sequences == list(range(1, len(sequences) + 1))
    assert outbox.dropped == dropped
    assert len(outbox) == 0


def test_a_batch_says_where_it_comes_from() -> None:
    outbox = Outbox("engine0", "boot", FakeClock(5.0), kind="gateway")
    outbox.put(event(1))
    (batch,) = outbox.batches()
    assert (batch.source, batch.boot_id, batch.kind, batch.sent_at_s) == (
        "engine0",
        "boot",
        "gateway",
        5.0,
    )

import threading

import pytest

from hmas.engine.directive import ControlReply, ControlRequest, Describe, DirectiveReply
from hmas.engine.link.mailbox import DirectiveMailbox, EngineBusyError

REPLY = DirectiveReply(
    engine_id="e",
    boot_id="b",
    accepted=True,
    active_version=1,
    topology="fcfs",
    bypass=False,
    step=1,
)


def test_an_idle_engine_answers_at_once() -> None:
    mailbox = DirectiveMailbox(lambda request: REPLY)
    assert mailbox.deliver(Describe()) is REPLY


def test_nothing_is_applied_inside_a_step() -> None:
    answered = threading.Event()
    asked = threading.Event()

    def answer(request: ControlRequest) -> ControlReply:
        answered.set()
        return REPLY

    def link_thread() -> None:
        asked.set()
        mailbox.deliver(Describe())

    mailbox = DirectiveMailbox(answer)
    thread = threading.Thread(target=link_thread)
    with mailbox.lock:
        thread.start()
        assert asked.wait(5)
        assert not answered.wait(0.05)
    assert answered.wait(5)
    thread.join(5)


def test_an_endless_step_is_a_refusal_that_leaves_nothing_behind() -> None:
    calls: list[ControlRequest] = []

    def answer(request: ControlRequest) -> ControlReply:
        calls.append(request)
        return REPLY

    mailbox = DirectiveMailbox(answer, timeout_s=0.01)
    refusals: list[EngineBusyError] = []

    def link_thread() -> None:
        with pytest.raises(EngineBusyError, match="nothing changed") as refusal:
            mailbox.deliver(Describe())
        refusals.append(refusal.value)

    with mailbox.lock:
        thread = threading.Thread(target=link_thread)
        thread.start()
        thread.join(5)
    assert len(refusals) == 1
    assert calls == []


def test_the_lock_is_free_after_a_failing_request() -> None:
    def answer(request: ControlRequest) -> ControlReply:
        raise ValueError("no")

    mailbox = DirectiveMailbox(answer)
    with pytest.raises(ValueError, match="no"):
        mailbox.deliver(Describe())
    assert mailbox.lock.acquire(blocking=False)

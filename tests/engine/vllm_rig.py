"""A plug-in host on a fake scheduler, for its unit tests."""

from __future__ import annotations

from typing import Any

from hmas.engine.clock import FakeClock
from hmas.engine.core import Identity
from hmas.engine.directive import Describe, Directive, DirectiveReply, EngineDescription
from hmas.engine.events import Event
from hmas.engine.features import XARGS_KEY, encode_features
from hmas.engine.vllm_host import VllmHost
from tests.engine.fake_vllm import FakeQueue, FakeRequest, FakeScheduler
from tests.engine.support import directive, features


class Rig:
    """A host on a fake scheduler, with what it published."""

    def __init__(self, **scheduler: Any) -> None:
        self.scheduler = FakeScheduler(**scheduler)
        self.clock = FakeClock(100.0)
        self.events: list[Event] = []
        self.host = VllmHost(
            self.scheduler,
            Identity("e", "boot", "vllm", "0.32.0", "tiny"),
            self.clock,
            make_queue=FakeQueue,
            publish=self.events.append,
        )

    def add(self, name: str, **fields: Any) -> FakeRequest:
        tags = features(name, arrival_s=self.clock.now_s(), slo_ttft_ms=1e6, **fields)
        return self.scheduler.add(
            self.host,
            FakeRequest(
                name,
                arrival_time=self.clock.now_s(),
                num_prompt_tokens=tags.prompt_tokens,
                extra_args={XARGS_KEY: encode_features(tags)},
            ),
        )

    def step(self, seconds: float = 0.1) -> list[str]:
        self.clock.advance(seconds)
        return self.scheduler.step(self.host)

    def direct(self, version: int, topology: str, **fields: Any) -> DirectiveReply:
        return self.send(directive(version, topology, **fields))

    def send(self, sent: Directive) -> DirectiveReply:
        reply = self.host.mailbox.deliver(sent)
        assert isinstance(reply, DirectiveReply)
        return reply

    def describe(self) -> EngineDescription:
        description = self.host.mailbox.deliver(Describe())
        assert isinstance(description, EngineDescription)
        return description

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def is_stock(self) -> bool:
        scheduler = self.scheduler
        return (
            isinstance(scheduler.waiting, FakeQueue)
            and scheduler.max_num_active_reqs == 4
            and scheduler.max_num_scheduled_tokens == 256
        )

"""Waits until engines have confirmed what an operator asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from hmas.daemon import wire
from hmas.daemon.cli.client import AdminClient

POLL_S = 0.1
Holds = Callable[[wire.EngineStatus], bool]


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One engine's answer."""

    engine_id: str
    confirmed: bool
    version: int | None
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def wait_for(client: AdminClient, target: str, wait_s: float, holds: Holds) -> list[Confirmation]:
    """Every reachable target's answer within ``wait_s``; none asked when that is 0."""
    deadline = time.monotonic() + wait_s
    answers: list[Confirmation] = []
    while wait_s > 0:
        engines = client.get("/engines", list[wire.EngineStatus])
        asked = [one for one in engines if target in (wire.ALL_ENGINES, one.engine_id)]
        answers = [_answer(one, holds) for one in asked]
        if all(answer.confirmed for answer in answers) or time.monotonic() >= deadline:
            break
        time.sleep(POLL_S)
    return answers


def _answer(engine: wire.EngineStatus, holds: Holds) -> Confirmation:
    directive = engine.directive
    acked = (
        directive is not None
        and directive.ack is wire.AckState.ACK
        and directive.active_version == directive.version
    )
    confirmed = engine.reachable and acked and holds(engine)
    version = directive.version if directive else None
    if confirmed:
        sentence = f"{engine.engine_id} runs {engine.topology} since directive {version}"
    elif not engine.reachable:
        sentence = f"{engine.engine_id} is unreachable: {engine.sentence}"
    elif directive is not None and directive.reason:
        sentence = f"{engine.engine_id} answered: {directive.reason}"
    else:
        sentence = f"{engine.engine_id} runs {engine.topology}: {engine.sentence}"
    return Confirmation(engine.engine_id, confirmed, version, sentence)

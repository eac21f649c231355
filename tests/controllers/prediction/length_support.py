"""Small length models and finished requests for the tests of length prediction."""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.length_model import LengthModel, decode_model
from hmas.controllers.prediction.length_training import Example, fit_length_model
from hmas.engine.events import Outcome, RequestFinished
from hmas.engine.features import RequestFeatures, TaskType

WORDS = {"list": 200, "yes": 2, "why": 60, "essay": 600}
"""What decides the length of the answer in the made-up traffic."""


def ask(
    text: str = "",
    *,
    tenant: str = "a",
    request_id: str = "",
    task: TaskType = TaskType.QA,
    prompt_tokens: int = 50,
    tools: int = 0,
    hinted: int | None = None,
    cap: int | None = None,
    session: str | None = None,
) -> Question:
    return Question(
        tenant=tenant,
        task_type=task,
        prompt_tokens=prompt_tokens,
        hinted_output_tokens=hinted,
        max_output_tokens=cap,
        session=session,
        prompt=Prompt(text=text, size_bytes=len(text), tools=tools),
        request_id=request_id,
    )


def finished(
    question: Question, output_tokens: int, outcome: Outcome = Outcome.COMPLETED
) -> RequestFinished:
    return RequestFinished(
        at_s=1.0,
        features=RequestFeatures(
            request_id=question.request_id,
            arrival_s=0.0,
            tenant=question.tenant,
            task_type=question.task_type,
        ),
        outcome=outcome,
        prompt_tokens=question.prompt_tokens,
        output_tokens=output_tokens,
        ttft_s=0.2,
        tpot_s=0.02,
    )


def traffic(count: int, seed: int = 0, *, tools: bool = True) -> list[Example]:
    """Each prompt holds one word that decides; half of those with tools call one."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(count):
        word = list(WORDS)[number % len(WORDS)]
        calls = bool(tools and number % 3 == 0 and word == "why")
        tokens = 15 if calls else round(WORDS[word] * float(np.exp(rng.normal(0, 0.2))))
        made.append(
            Example(
                source="made up",
                question=ask(f"please {word} topic{number % 17}", tools=int(number % 3 == 0)),
                output_tokens=max(1, tokens),
                held_out=number % 7 == 0,
                called_tool=calls if tools and number % 3 == 0 else None,
            )
        )
    return made


@cache
def small_model() -> LengthModel:
    return decode_model(small_file())


def off_model(by: float) -> LengthModel:
    """The small model, but ``by`` too high in log(1 + tokens)."""
    record = small_model().record
    median, upper = record.lengths.bias
    lengths = msgspec.structs.replace(record.lengths, bias=[median + by, upper + by])
    return LengthModel(msgspec.structs.replace(record, version="off", lengths=lengths))


@cache
def small_file() -> bytes:
    return fit_length_model(traffic(400), seed=0, licence="none")[0]

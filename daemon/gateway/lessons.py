"""What models may learn from a request whose tenant agreed: hashes and counts, never text."""

from __future__ import annotations

import hashlib
from typing import Final

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.length_features import read_features
from hmas.daemon.gateway.body import Body
from hmas.engine.events import RequestFinished, RequestLearned
from hmas.engine.features import RequestFeatures

SESSION_DIGITS: Final = 16
MAX_WORDS: Final = 1024


def lesson_of(features: RequestFeatures, body: Body, prompt: Prompt) -> Question:
    """The question to which the length of the answer will be the truth; kept in memory only."""
    return Question(
        tenant=features.tenant,
        task_type=features.task_type,
        prompt_tokens=features.prompt_tokens,
        max_output_tokens=body.max_output_tokens,
        model=body.model,
        session=features.job_id,
        temperature=body.envelope.temperature,
        prompt=prompt,
    )


def learned(question: Question, finished: RequestFinished) -> RequestLearned:
    """What goes to the daemon, and from there into the training store."""
    found = read_features(question)
    return RequestLearned(
        at_s=finished.at_s,
        features=finished.features,
        prompt_tokens=finished.prompt_tokens,
        output_tokens=finished.output_tokens,
        ttft_s=finished.ttft_s,
        tpot_s=finished.tpot_s,
        model=question.model,
        session=_hashed(question.tenant, question.session),
        numbers=found.numbers,
        words=[int(bucket) for bucket in found.buckets[:MAX_WORDS]],
        opening=int(found.opening),
    )


def _hashed(tenant: str, session: str | None) -> str:
    """Equal for requests of one session; empty without one."""
    if session is None:
        return ""
    named = f"{tenant}\0{session}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(named).hexdigest()[:SESSION_DIGITS]

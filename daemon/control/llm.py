"""The meta-controller's LLM: prompt out, proposal or refusal in, and how it has been doing."""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from dataclasses import dataclass
from typing import Final

import msgspec

from hmas.controllers.config import ControlConfig
from hmas.controllers.meta.base import MetaContext, Outcome, Proposal, Refusal, RefusalKind
from hmas.controllers.meta.llm_answer import NAME, parse_answer, response_format
from hmas.controllers.meta.prompt_inputs import prompt_inputs
from hmas.controllers.meta.rules import Rules
from hmas.daemon.config.problems import Problem, SettingsError
from hmas.daemon.control.advisers import Adviser, Advisers
from hmas.daemon.control.completion import CompletionClient, CompletionError
from hmas.daemon.control.settings import LlmSettings, MetaSettings
from hmas.daemon.wire import LlmHealth
from hmas.engine.clock import Clock
from hmas.prompts.load import Prompt, PromptError, load_example, load_prompt
from hmas.storage.records import PromptVersionRecord

log = logging.getLogger(__name__)

PROMPT: Final = "meta_controller"
HOUR_S: Final = 3600.0
MAX_DETAIL: Final = 300


@dataclass(slots=True)
class LlmStats:
    """Counts since the start; ``last_error`` is empty while answers can be used."""

    answers: int = 0
    refusals: int = 0
    last_ok_s: float | None = None
    last_error: str = ""


class CallBudget:
    """At most ``calls`` in any hour."""

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self._taken: deque[float] = deque()

    def take(self, now_s: float) -> bool:
        while self._taken and self._taken[0] <= now_s - HOUR_S:
            self._taken.popleft()
        if len(self._taken) >= self._calls:
            return False
        self._taken.append(now_s)
        return True


class LlmAdviser:
    """Implements :class:`Adviser`: never raises, answers within ``timeout_s``."""

    def __init__(
        self,
        settings: LlmSettings,
        prompt: Prompt,
        clock: Clock,
        *,
        fairness_threshold: float,
    ) -> None:
        self.stats = LlmStats()
        self.prompt = prompt
        self._clock = clock
        self._fairness_threshold = fairness_threshold
        self._budget = CallBudget(settings.calls_per_hour)
        self._calls_per_hour = settings.calls_per_hour
        self._client = CompletionClient(settings)

    async def propose(self, context: MetaContext) -> Outcome:
        asked = await self._ask(context)
        outcome = msgspec.structs.replace(asked, prompt_version=self.prompt.version)
        if isinstance(outcome, Proposal):
            self.stats.answers += 1
            self.stats.last_ok_s = self._clock.now_s()
            self.stats.last_error = ""
        else:
            self.stats.refusals += 1
            self.stats.last_error = f"{outcome.kind.value}: {outcome.detail}"
        return outcome

    async def close(self) -> None:
        await self._client.close()

    async def _ask(self, context: MetaContext) -> Outcome:
        if not self._budget.take(self._clock.now_s()):
            return refusal(RefusalKind.BUDGET, f"{self._calls_per_hour} calls within the last hour")
        try:
            prompt = self.prompt.render(prompt_inputs(context, self._fairness_threshold))
            text = await self._client.complete(prompt, response_format(context))
            return parse_answer(text, context)
        except CompletionError as error:
            return refusal(error.kind, str(error))
        except PromptError as error:
            return refusal(RefusalKind.INTERNAL_ERROR, str(error))
        except Exception as error:
            # The edge: whatever an endpoint makes a library do, the rules must still decide.
            log.exception("the LLM could not be asked")
            return refusal(RefusalKind.INTERNAL_ERROR, f"{type(error).__name__}: {error}")


class RulesAdviser:
    """The rules as a shadow of another primary."""

    def __init__(self, control: ControlConfig) -> None:
        self._rules = Rules(control.rules, control.views.min_samples)

    async def propose(self, context: MetaContext) -> Outcome:
        return self._rules.decide(context)


def refusal(kind: RefusalKind, detail: str) -> Refusal:
    return Refusal(controller=NAME, kind=kind, detail=detail[:MAX_DETAIL])


def advisers_for(meta: MetaSettings, control: ControlConfig, clock: Clock) -> Advisers:
    """Who is asked with these settings; the prompt is loaded and checked.

    Raises:
        SettingsError: the prompt cannot be used.
    """
    known: dict[str, Adviser] = {"rules": RulesAdviser(control)}
    if meta.llm is not None:
        known["llm"] = LlmAdviser(
            meta.llm, checked_prompt(), clock, fairness_threshold=control.rules.fairness
        )
    primary = known["llm"] if meta.primary == "llm" else None
    shadows: dict[str, Adviser] = {
        name: known[name] for name in meta.shadow if name != meta.primary
    }
    return Advisers(primary, shadows)


def checked_prompt() -> Prompt:
    """Raises :class:`SettingsError`."""
    try:
        prompt = load_prompt(PROMPT)
        prompt.check(load_example(PROMPT))
    except PromptError as error:
        raise SettingsError([Problem("meta.llm", "", f"prompt {error}")]) from error
    return prompt


def prompt_record(prompt: Prompt, now_s: float) -> PromptVersionRecord:
    """Which prompt was in use, for whoever reads its decisions later."""
    text = prompt.path.read_text(encoding="utf-8")
    return PromptVersionRecord(
        name=prompt.name,
        version=prompt.version,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        text=text,
        created_at_s=now_s,
        author="hmas",
        reason="shipped with this version",
    )


def llm_of(advisers: Advisers) -> LlmAdviser | None:
    asked = (advisers.primary, *advisers.shadows.values())
    return next((adviser for adviser in asked if isinstance(adviser, LlmAdviser)), None)


async def close_advisers(advisers: Advisers) -> None:
    """Give connections back."""
    if (adviser := llm_of(advisers)) is not None:
        await adviser.close()


def llm_health(meta: MetaSettings, advisers: Advisers) -> LlmHealth:
    adviser = llm_of(advisers)
    if adviser is None or meta.llm is None:
        return LlmHealth()
    stats = adviser.stats
    return LlmHealth(
        configured=True,
        model=meta.llm.model,
        last_ok_s=stats.last_ok_s,
        answers=stats.answers,
        refusals=stats.refusals,
        last_error=stats.last_error,
    )

"""The LLM's answer: one pydantic model, its strict JSON schema, and a parser that never raises.

Nothing an LLM writes reaches the engine but a topology out of those available, hints within
their bounds, and one boolean. Strings are bounded by patterns: small models under guided
decoding break on free strings.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Final, NoReturn

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from hmas.controllers.meta.base import (
    HintBounds,
    MetaContext,
    Outcome,
    Proposal,
    Refusal,
    RefusalKind,
)
from hmas.controllers.meta.validation import validated

NAME: Final = "llm"
MAX_CHARS: Final = 16_384
MAX_DETAIL: Final = 200
MAX_HINTS: Final = 16
MAX_REASON: Final = 120
"""xgrammar 0.2.8, vLLM's guided decoding, fails on the whole schema above 128 repetitions."""
REASON_PATTERN: Final = rf"^[A-Za-z0-9 ,.%/-]{{1,{MAX_REASON}}}$"

_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9 ,.%/-]+")
_THINKING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"\A\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)


def _plain(reason: object) -> object:
    """Characters outside the pattern become spaces: punctuation is no reason to refuse."""
    if not isinstance(reason, str):
        return reason
    return " ".join(_NOT_ALLOWED.sub(" ", reason[:800]).split())[:MAX_REASON]


class TopologyChoice(BaseModel):
    """A topology and its hints; a hint that is null or left out keeps its default."""

    model_config = ConfigDict(extra="forbid", strict=True)

    topology: str = Field(max_length=64)
    hints: dict[str, Annotated[float, Field(allow_inf_nan=False)] | None] = Field(
        max_length=MAX_HINTS
    )


class MetaAnswer(BaseModel):
    """What the LLM must answer; the reason comes first so that it leads to the choice."""

    model_config = ConfigDict(extra="forbid", strict=True)

    reason: Annotated[str, BeforeValidator(_plain)] = Field(
        pattern=REASON_PATTERN, description="one short sentence in plain words"
    )
    choice: TopologyChoice = Field(description="the queue topology to run next")
    bypass: bool = Field(description="true only when the engine must fall back to plain FCFS")


def answer_schema(context: MetaContext) -> dict[str, Any]:
    """Strict JSON schema of the answer, narrowed to what this context allows.

    Fit for OpenAI's ``response_format`` (all fields required, nothing else allowed) and for
    vLLM's guided decoding (no ``$ref``, no free strings): whatever satisfies it is valid.
    """
    schema: dict[str, Any] = MetaAnswer.model_json_schema()
    del schema["$defs"]
    names = context.candidates or [context.active]
    choices = [_choice_schema(name, context.hint_bounds.get(name, {})) for name in names]
    schema["properties"]["choice"] = {"anyOf": choices}
    if not context.bypass_allowed:
        schema["properties"]["bypass"]["enum"] = [False]
    plain: dict[str, Any] = _without_titles(schema)
    return plain


def _choice_schema(topology: str, bounds: HintBounds) -> dict[str, Any]:
    hints = {
        name: {"anyOf": [{"type": "number", "minimum": low, "maximum": high}, {"type": "null"}]}
        for name, (low, high) in bounds.items()
    }
    name = {"type": "string", "enum": [topology]}
    return _object({"topology": name, "hints": _object(hints)})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def response_format(context: MetaContext) -> dict[str, Any]:
    """The ``response_format`` argument of a chat completion."""
    schema = {"name": "meta_decision", "strict": True, "schema": answer_schema(context)}
    return {"type": "json_schema", "json_schema": schema}


def parse_answer(text: str, context: MetaContext) -> Outcome:
    """A valid proposal, or a refusal that says what was wrong. Never raises."""
    if len(text) > MAX_CHARS:
        return _refuse(RefusalKind.TOO_LONG, f"{len(text)} characters, at most {MAX_CHARS}")
    try:
        data = json.loads(
            _bare(text), parse_constant=_reject_constant, object_pairs_hook=_unique_keys
        )
    except (ValueError, RecursionError) as error:
        return _refuse(RefusalKind.NOT_JSON, str(error))
    try:
        answer = MetaAnswer.model_validate(data)
    except ValidationError as error:
        return _refuse(RefusalKind.WRONG_SCHEMA, _first_error(error))
    chosen = answer.choice
    proposal = Proposal(
        controller=NAME,
        topology=chosen.topology,
        hints={name: value for name, value in chosen.hints.items() if value is not None},
        bypass=answer.bypass,
        reason=answer.reason,
    )
    return validated(proposal, context)


def _bare(text: str) -> str:
    """Without a reasoning block in front and a Markdown fence around."""
    text = _THINKING.sub("", text, count=1)
    fenced = _FENCE.match(text)
    return fenced.group(1) if fenced else text


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("an object names a key twice")
    return data


def _first_error(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "answer"
    return f"{where}: {first['msg']}"


def _without_titles(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            key: _without_titles(value)
            for key, value in node.items()
            if not (key == "title" and isinstance(value, str))
        }
    if isinstance(node, list):
        return [_without_titles(item) for item in node]
    return node


def _refuse(kind: RefusalKind, detail: str) -> Refusal:
    printable = ascii(detail)[1:-1]
    return Refusal(controller=NAME, kind=kind, detail=printable[:MAX_DETAIL])

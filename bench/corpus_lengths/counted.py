"""Sets that give lengths only: no prompt text, no user."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hmas.bench.corpus_lengths.sample import (
    Part,
    Sample,
    SetCard,
    part_in_time,
    part_of,
    require_file,
)
from hmas.bench.traces import read_trace
from hmas.controllers.perception.incoming import EMPTY_PROMPT, Prompt
from hmas.engine.features import TaskType

SHAREGPT: Final = SetCard(
    "sharegpt_lengths",
    "ShareGPT validation conversations, Llama-2 tokens (microsoft/Splitwise-sim, ml-energy)",
    "MIT",
    "by hash of the row number",
    "as published",
    has_text=False,
)
AZURE: Final = {
    name: SetCard(
        f"azure_{name}",
        f"Azure LLM inference trace 2023, {name} (Azure/AzurePublicDataset)",
        "CC-BY-4.0",
        "by time: the first 60 % train, the last 30 % test",
        "as published",
        is_ordered=True,
        has_text=False,
    )
    for name in ("conv", "code")
}
PROXY: Final = SetCard(
    "proxy_predictions",
    "true length and class predicted by a BERT proxy "
    "(James-QiuHaoran/LLM-serving-with-proxy-models)",
    "Apache-2.0",
    "by hash of the row number",
    "as published",
    has_text=False,
)
CLAUDE_CODE: Final = SetCard(
    "claude_code_traces",
    "coding-agent sessions, input and output tokens of each call (callanjfox/kv-cache-tester)",
    "Apache-2.0",
    "by hash of the session",
    "as published",
    is_ordered=True,
    has_text=False,
)
INFERCEPT: Final = SetCard(
    "infercept",
    "segments of augmented requests between two tool calls (mars-repository/mars-codebase)",
    "Apache-2.0",
    "by hash of the request",
    "as published",
    is_ordered=True,
    has_text=False,
)
INFERCEPT_TASKS: Final = {
    "math": TaskType.MATH_REASONING,
    "chat": TaskType.DIALOGUE,
    "qa": TaskType.QA,
    "image": TaskType.INSTRUCTION_FOLLOWING,
    "tts": TaskType.INSTRUCTION_FOLLOWING,
    "ve": TaskType.INSTRUCTION_FOLLOWING,
}


def sharegpt(data: Path) -> Iterator[Sample]:
    import pandas  # noqa: ICN001

    path = require_file(data / "sharegpt_lengths/sharegpt_val_10k_llama2.csv")
    rows = pandas.read_csv(path)
    pairs = zip(rows.num_prefill_tokens, rows.num_decode_tokens, strict=True)
    for number, (prompt_tokens, output_tokens) in enumerate(pairs):
        part = part_of(f"sharegpt {number}")
        yield _counted("sharegpt_lengths", prompt_tokens, output_tokens, part)


def azure(data: Path, name: str) -> Iterator[Sample]:
    task = TaskType.CODE_GENERATION if name == "code" else TaskType.DIALOGUE
    path = require_file(data / f"azure/AzureLLMInferenceTrace_{name}.csv")
    rows = list(read_trace(path))
    for number, row in enumerate(rows):
        yield _counted(
            f"azure_{name}",
            row.prompt_tokens,
            row.output_tokens,
            part_in_time(number, len(rows)),
            task,
        )


def proxy(data: Path) -> Iterator[Sample]:
    rows = _parquet(data / "proxy_predictions/predictions_warmup_cls_1000K.parquet")
    triples = zip(rows.output_token_length, rows.predicted_length, rows.model, strict=True)
    for number, (output_tokens, predicted, model) in enumerate(triples):
        yield Sample(
            source="proxy_predictions",
            tenant="proxy_predictions",
            task_type=TaskType.UNKNOWN,
            prompt_tokens=0,
            output_tokens=max(1, int(output_tokens)),
            part=part_of(f"proxy {number}"),
            prompt=EMPTY_PROMPT,
            model=str(model),
            predicted_class=int(predicted),
        )


def claude_code(data: Path) -> Iterator[Sample]:
    """Calls of all sessions, session after session, each in order of time."""
    rows = _parquet(data / "claude_code_traces/requests.parquet")
    rows = rows[rows.out > 0].sort_values(["trace", "t", "idx"], kind="stable")
    columns = (rows.trace, rows["sub"], rows.model, rows.inp, rows.out, rows.stop)
    turns: dict[str, int] = {}
    for trace, sub, model, inp, out, stop in zip(*columns, strict=True):
        session = f"{trace}/{sub}"
        turns[session] = turns.get(session, -1) + 2
        yield Sample(
            source="claude_code_traces",
            tenant="claude_code_traces",
            task_type=TaskType.CODE_GENERATION,
            prompt_tokens=int(inp),
            output_tokens=int(out),
            part=part_of(str(trace)),
            prompt=Prompt(size_bytes=int(inp) * 4, turns=turns[session], tools=1),
            model=str(model),
            session=session,
            called_tool=stop == "tool_use",
        )


def infercept(data: Path) -> Iterator[Sample]:
    """The application behind each request (its ``task``) is the tenant."""
    import pandas  # noqa: ICN001

    rows = pandas.read_csv(require_file(data / "infercept/segments.csv"))
    rows["shuffled"] = rows.request.map(lambda name: str(name)[::-1])
    rows = rows.sort_values(["shuffled", "seg"], kind="stable")
    columns = (rows.request, rows.task, rows.seg, rows.prompt_tokens, rows.completion_tokens)
    for request, task, seg, prompt_tokens, output_tokens in zip(*columns, strict=True):
        yield Sample(
            source="infercept",
            tenant=f"infercept-{task}",
            task_type=INFERCEPT_TASKS[str(task)],
            prompt_tokens=int(prompt_tokens),
            output_tokens=max(1, int(output_tokens)),
            part=part_of(str(request)),
            prompt=Prompt(size_bytes=int(prompt_tokens) * 4, turns=1 + 2 * int(seg), tools=1),
            session=str(request),
        )


def _counted(
    source: str,
    prompt_tokens: Any,
    output_tokens: Any,
    part: Part,
    task_type: TaskType = TaskType.DIALOGUE,
) -> Sample:
    return Sample(
        source=source,
        tenant=source,
        task_type=task_type,
        prompt_tokens=int(prompt_tokens),
        output_tokens=max(1, int(output_tokens)),
        part=part,
        prompt=Prompt(size_bytes=int(prompt_tokens) * 4),
    )


def _parquet(path: Path) -> Any:
    import pandas  # noqa: ICN001

    return pandas.read_parquet(require_file(path))

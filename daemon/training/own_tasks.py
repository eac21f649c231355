"""The classifier of task types out of an operator's own labels, alone or beside public sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hmas.controllers.perception.learned import Card, unpack, with_metrics
from hmas.controllers.perception.training import TASKS, Sample, train

if TYPE_CHECKING:
    from hmas.bench.corpus.split import Split
    from hmas.bench.perception.accuracy import Accuracy

MIN_PER_TASK: Final = 10
"""Without public sets; fewer prompts of a task can be neither learned nor tested."""
LICENCE: Final = "the operator's own labels: not for others"
LICENCE_WITH_PUBLIC: Final = f"{LICENCE}; public sets under their own licences"

_CARD: Final = """# Task model

Names the task type of a prompt; a multinomial linear model, made by `hmas train perception`.

| | |
|---|---|
| licence | {licence} |
| data hash | `{data_hash}`, seed {seed} |
| knows | {tasks} |

## Data
A fifth of the groups of near-duplicate prompts (MinHash, similarity of word triples
{similarity:g}) is held out; {removed} training prompts that were still near a held-out one were
left out.

| source | training prompts | held out | named right by the chain |
|---|---|---|---|
{sources}

Sources that begin with "own:" are labelled files of the operator, labels as they stood there; the
others are public sets, see `hmas.bench.corpus`.

## Metrics
Held-out prompts of the own files: whole chain {chain:.1%}, this model alone {alone:.1%}.
"""


def train_on_own(
    own: Sequence[Sample], data: Path | None, seed: int, say: Callable[[str], None]
) -> tuple[bytes, str, dict[str, Any]]:
    """A model file, its card in Markdown, and what was measured on held-out prompts.

    ``data``: the folder of public sets to train on as well.

    Raises:
        ValueError: too few prompts, or of one task only.
        FileNotFoundError: a public set is not there.
        ImportError: the extra ``train`` is not installed.
    """
    from hmas.bench.corpus.split import grouped, split

    if data is None:
        _check_enough(own)
    say(f"task types: grouping {len(own)} prompts by near-duplicates")
    parts = split(grouped(own), seed)
    if data is None:
        _check_learnable(own, parts)
    else:
        say("task types: reading the public sets")
        parts = _with_public(parts, data, seed)
    present = {sample.task_type for sample in parts.train}
    tasks = tuple(task for task in TASKS if task in present)
    say(f"task types: fitting {len(parts.train)} prompts")
    content = train(parts.train, seed, tasks)
    say(f"task types: asking about {len(parts.test)} held-out prompts")
    report, measured = _measured(content, parts, {sample.source for sample in own})
    licence = LICENCE if data is None else LICENCE_WITH_PUBLIC
    content = with_metrics(content, measured, licence)
    return content, _card(unpack(content).card, parts, report), report


def _check_enough(own: Sequence[Sample]) -> None:
    counts = Counter(sample.task_type for sample in own)
    few = [f"{task} ({count})" for task, count in sorted(counts.items()) if count < MIN_PER_TASK]
    if few:
        raise ValueError(
            f"too few prompts of {', '.join(few)}: label at least {MIN_PER_TASK} of each task"
            " type, take those lines out, or add public sets with --data DIR"
        )
    if len(counts) < 2:
        raise ValueError(
            "all prompts have one task type: label others too, or add public sets with --data DIR"
        )


def _with_public(own: Split, data: Path, seed: int) -> Split:
    """Both held-out parts together, and whatever is near one of them in neither training part."""
    from hmas.bench.corpus.split import Split, without_near_duplicates
    from hmas.bench.perception.train import task_split

    public = task_split(data, seed)
    test = [*own.test, *public.test]
    candidates = [*own.train, *public.train]
    kept = without_near_duplicates(candidates, test)
    return Split(kept, test, own.removed + public.removed + len(candidates) - len(kept))


def _check_learnable(own: Sequence[Sample], parts: Split) -> None:
    lost = {sample.task_type for sample in own} - {sample.task_type for sample in parts.train}
    if lost:
        raise ValueError(
            f"the prompts of {', '.join(sorted(lost))} are too much alike: all of them are held"
            " out to test on; label prompts that differ more, or take those lines out"
        )


def _measured(
    content: bytes, parts: Split, own_sources: set[str]
) -> tuple[dict[str, Any], dict[str, float]]:
    """The report, and the few numbers of it that stand on the model's own card."""
    from hmas.bench.perception.accuracy import accuracy, alone, chain, confusion_rows

    model = unpack(content)
    held_out = [sample for sample in parts.test if sample.source in own_sources]
    of_chain, of_model = accuracy(held_out, chain(model)), accuracy(held_out, alone(model))
    numbers = {
        "own_chain": round(of_chain.overall, 4),
        "own_model": round(of_model.overall, 4),
    }
    report: dict[str, Any] = {
        "trained_on": len(parts.train),
        "tested_on": len(parts.test),
        "near_duplicates_removed": parts.removed,
        **numbers,
        "own_by_task": _rounded(of_chain.by_task),
        "own_confusion": _confusion(of_chain, confusion_rows(of_chain)),
        "by_source": _rounded(accuracy(parts.test, chain(model)).by_source),
    }
    return report, numbers


def _rounded(shares: dict[str, float]) -> dict[str, float]:
    return {name: round(share, 4) for name, share in shares.items()}


def _confusion(found: Accuracy, rows: Sequence[dict[str, object]]) -> dict[str, dict[str, object]]:
    """Labelled task to named task to prompts, without the zeros."""
    return {
        str(row["labelled"]): {name: n for name, n in row.items() if name != "labelled" and n}
        for row in rows
        if row["labelled"] in found.by_task
    }


def _card(card: Card, parts: Split, report: dict[str, Any]) -> str:
    from hmas.bench.corpus.split import SIMILARITY

    held = Counter(sample.source for sample in parts.test)
    rows = [
        f"| {name} | {card.trained_on.get(name, 0)} | {held[name]} | {share:.1%} |"
        for name, share in report["by_source"].items()
    ]
    return _CARD.format(
        licence=card.licence,
        data_hash=card.data_hash,
        seed=card.seed,
        tasks=", ".join(card.tasks),
        similarity=SIMILARITY,
        removed=parts.removed,
        sources="\n".join(rows),
        chain=report["own_chain"],
        alone=report["own_model"],
    )

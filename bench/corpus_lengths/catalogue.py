"""All sets by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from hmas.bench.corpus_lengths import counted, dialogues, texts
from hmas.bench.corpus_lengths.sample import MissingSetError, Sample, SetCard

Reader = Callable[[Path], Iterator[Sample]]


@dataclass(frozen=True, slots=True)
class LengthSet:
    """A set with its card; ``read`` raises :class:`MissingSetError` where it is absent."""

    card: SetCard
    read: Reader


SETS: Final = (
    LengthSet(counted.SHAREGPT, counted.sharegpt),
    LengthSet(counted.AZURE["conv"], partial(counted.azure, name="conv")),
    LengthSet(counted.AZURE["code"], partial(counted.azure, name="code")),
    LengthSet(texts.GSM8K, texts.gsm8k),
    LengthSet(texts.MEDQUAD, texts.medquad),
    LengthSet(texts.T0, texts.t0_templates),
    LengthSet(texts.SELF_INSTRUCT, texts.self_instruct),
    LengthSet(texts.ALPACA, texts.alpaca),
    LengthSet(texts.OASST, dialogues.oasst),
    LengthSet(texts.ROUTELLM, texts.routellm),
    LengthSet(texts.HUMANEVAL, texts.humaneval),
    LengthSet(dialogues.TOOL_USE, dialogues.tool_use),
    LengthSet(counted.INFERCEPT, counted.infercept),
    LengthSet(counted.CLAUDE_CODE, counted.claude_code),
    LengthSet(dialogues.TAU_BENCH, dialogues.tau_bench),
    LengthSet(counted.PROXY, counted.proxy),
)


def load(data: Path, *, proxy: bool = True) -> dict[str, list[Sample]]:
    """Samples of every set that is there, in the order of the set."""
    found: dict[str, list[Sample]] = {}
    for one in SETS:
        if one.card is counted.PROXY and not proxy:
            continue
        try:
            found[one.card.name] = list(one.read(data))
        except MissingSetError:
            continue
    return found


def card(name: str) -> SetCard:
    """The card of a set; :class:`KeyError` for a name that is none."""
    return {one.card.name: one.card for one in SETS}[name]

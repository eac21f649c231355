"""The card of a length model: what it learned from, how good it is, where it ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hmas.bench.corpus_lengths.catalogue import card
from hmas.bench.corpus_lengths.sample import TEST_SHARE, WARM_SHARE
from hmas.controllers.prediction.length_model import LengthRecord

HEAD: Final = """# Length model

Predicts the median and an upper quantile of a request's output tokens before it runs, from the
size and the words of its prompt, its task type, model, sampling, tools and session. It is the
starting point only: in service it is weighed against the history of each tenant and corrected
by what finished (`controllers/prediction/length.py`), under a conformal bound.

Written by `python -m hmas.bench.corpus_lengths`; the same data and seed give the same bytes.
"""
BODY: Final = """
## How it was made
A ridge regression of log(1 + tokens) on hashed words; a CatBoost classifier of tool calls,
calibrated by isotonic regression; CatBoost quantile trees (0.5 and 0.9) on both and on the
numbers of the request. All were exported to plain arrays: the file holds no code. Each set is
split by {split}: {train:.0%} train, {warm:.0%} stand for traffic already seen in the benchmark,
{test:.0%} test.
"""
LIMITS: Final = """
## Limits
- Tokens of texts are estimated as UTF-8 bytes by four; sets marked so have no tokenizer's count.
- Many answers were written by people (GSM8K, MedQuAD, T0, HumanEval, self-instruct): a model
  answers the same prompt longer or shorter. The level is learned on line from each tenant.
- ShareGPT, Azure, InferCept and the coding-agent traces give lengths without prompts: there,
  the model knows size, task, tools and session alone.
- English for the most part.
"""


def model_card(record: LengthRecord, size_bytes: int) -> str:
    """Markdown; metrics are those of the model alone, on rows that nobody trained on."""
    split = "hash of the prompt or session (Azure: by time)"
    body = BODY.format(
        split=split, train=1 - TEST_SHARE - WARM_SHARE, warm=WARM_SHARE, test=TEST_SHARE
    )
    facts = (
        f"\nVersion {record.version}, format `{record.format}`, seed {record.seed}, data hash "
        f"`{record.data_hash}`, {size_bytes:,} bytes. Licence: {record.licence}.\n"
    )
    return HEAD + facts + body + "\n" + "\n".join(_table(record)) + "\n" + LIMITS


def _table(record: LengthRecord) -> Iterable[str]:
    yield "| set | source | licence | split | tokens | test rows | MAE | below upper quantile |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, metrics in record.metrics.items():
        of_set = card(name)
        figures = f"{metrics['rows']:.0f} | {metrics['mae_tokens']} | "
        figures += f"{metrics['below_upper_quantile']:.3f}"
        yield (
            f"| {name} | {of_set.source} | {of_set.licence} | {of_set.split} | {of_set.tokens} "
            f"| {figures} |"
        )

"""Prompts of an exact token count, as token ids; shared prefixes where a trace names them."""

from __future__ import annotations

import random

from hmas.bench.slo import WorkloadRequest

FIRST_ID = 10
IDS = 500
"""Ids in [10, 510): inside the vocabulary of the smallest test model, no special tokens."""

TRACE_BLOCK_TOKENS = 512
"""Tokens behind one block hash of a Mooncake trace."""


def prompt_token_ids(request: WorkloadRequest, seed: int) -> list[int]:
    """As many ids as the trace says; equal block hashes give equal blocks, all else differs."""
    wanted = request.features.prompt_tokens
    ids: list[int] = []
    for block in request.block_hashes:
        ids += _ids(f"block {seed} {block}", TRACE_BLOCK_TOKENS)
    if len(ids) < wanted:
        ids += _ids(f"request {seed} {request.features.request_id}", wanted - len(ids))
    return ids[:wanted]


def _ids(name: str, count: int) -> list[int]:
    return random.Random(name).choices(range(FIRST_ID, FIRST_ID + IDS), k=count)  # noqa: S311

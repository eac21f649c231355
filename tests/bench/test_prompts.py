from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.bench.prompts import FIRST_ID, IDS, TRACE_BLOCK_TOKENS, prompt_token_ids
from hmas.bench.slo import WorkloadRequest
from hmas.engine.features import RequestFeatures


def request(request_id: str, prompt_tokens: int, *blocks: int) -> WorkloadRequest:
    features = RequestFeatures(request_id=request_id, arrival_s=0.0, prompt_tokens=prompt_tokens)
    return WorkloadRequest(features, 10, blocks)


@given(st.integers(0, 3000), st.lists(st.integers(0, 5), max_size=4))
def test_exactly_as_many_tokens_as_wanted(prompt_tokens: int, blocks: list[int]) -> None:
    ids = prompt_token_ids(request("r1", prompt_tokens, *blocks), seed=1)
    assert len(ids) == prompt_tokens
    assert all(FIRST_ID <= token < FIRST_ID + IDS for token in ids)
    assert ids == prompt_token_ids(request("r1", prompt_tokens, *blocks), seed=1)


def test_equal_blocks_are_shared_and_tails_are_not() -> None:
    first = prompt_token_ids(request("r1", 1500, 7, 8), seed=1)
    second = prompt_token_ids(request("r2", 1500, 7, 9), seed=1)
    assert first[:TRACE_BLOCK_TOKENS] == second[:TRACE_BLOCK_TOKENS]
    assert first[TRACE_BLOCK_TOKENS:] != second[TRACE_BLOCK_TOKENS:]


def test_prompts_without_blocks_share_nothing() -> None:
    first = prompt_token_ids(request("r1", 100), seed=1)
    assert first[:16] != prompt_token_ids(request("r2", 100), seed=1)[:16]

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.daemon.gateway.usage import Usage, find_usage


@pytest.mark.parametrize(
    ("tail", "usage"),
    [
        (b'{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}', Usage(7, 3)),
        (
            b'data: {"usage": {"prompt_tokens": 7, "completion_tokens": 3, '
            b'"prompt_tokens_details": {"cached_tokens": 4}}}\n\ndata: [DONE]\n\n',
            Usage(7, 3),
        ),
        (b'{"usage":{"input_tokens":5,"output_tokens":2}}', Usage(5, 2)),
        (b'{"usage":{"prompt_tokens":9,"total_tokens":9}}', Usage(9, 0)),
        (b'{"usage":{"prompt_tokens":1}} {"usage":null}', Usage(1, 0)),
        (b'{"usage":{"prompt_tokens":1}} {"usage":{"prompt_tokens":2}}', Usage(2, 0)),
        (b'{"usage":null}', None),
        (b'{"usage":{"prompt_tokens":-1}}', None),
        (b'{"usage":{"prompt_tokens":"many"}}', None),
        (b'{"usage":{"prompt_tok', None),
        (b'the word "usage" in a text', None),
        (b"", None),
    ],
)
def test_usage_in_the_tail(tail: bytes, usage: Usage | None) -> None:
    assert find_usage(tail) == usage


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_tail_is_read(before: bytes, after: bytes) -> None:
    find_usage(before + b'"usage":{' + after)

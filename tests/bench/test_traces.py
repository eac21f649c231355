from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.bench.traces import TraceError, read_trace

DATA = Path(__file__).parents[3] / "shared" / "data"
AZURE_TEXT = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:46.6805900,374,44\n"
    "2023-11-16 18:15:50.9305900,396,109\n"
)
BURSTGPT_TEXT = (
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,ChatGPT,472,18,490,Conversation log\n"
    "45,ChatGPT,1087,0,1087,Conversation log\n"
    "118,GPT-4,417,276,693,API log\n"
)
MOONCAKE_TEXT = (
    '{"timestamp": 1000, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2]}\n'
    '{"timestamp": 4000, "input_length": 7322, "output_length": 490, "hash_ids": [0, 14]}\n'
)


def write(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_azure_times_start_at_zero(tmp_path: Path) -> None:
    first, second = read_trace(write(tmp_path, AZURE_TEXT, "conv.csv"))
    assert (first.arrival_s, first.prompt_tokens, first.output_tokens) == (0.0, 374, 44)
    assert second.arrival_s == pytest.approx(4.25)
    assert second.source == "conv"


def test_burstgpt_skips_requests_that_failed(tmp_path: Path) -> None:
    requests = read_trace(write(tmp_path, BURSTGPT_TEXT))
    assert [(r.arrival_s, r.prompt_tokens, r.output_tokens) for r in requests] == [
        (0.0, 472, 18),
        (113.0, 417, 276),
    ]


def test_mooncake_keeps_prefix_hashes_and_reads_milliseconds(tmp_path: Path) -> None:
    first, second = read_trace(write(tmp_path, MOONCAKE_TEXT, "trace.jsonl"))
    assert first.block_hashes == (0, 1, 2)
    assert (second.arrival_s, second.prompt_tokens) == (3.0, 7322)


def test_unsorted_rows_come_out_in_order(tmp_path: Path) -> None:
    text = "Timestamp,Request tokens,Response tokens\n9,1,1\n2,2,2\n"
    assert [r.prompt_tokens for r in read_trace(write(tmp_path, text))] == [2, 1]


def test_limit_reads_only_the_first_requests(tmp_path: Path) -> None:
    assert len(read_trace(write(tmp_path, AZURE_TEXT + "broken\n"), limit=2)) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "trace.csv:1: unknown trace format with columns (none)"),
        ("a,b\n1,2\n", "trace.csv:1: unknown trace format with columns a, b; expected Azure CSV"),
        (AZURE_TEXT.replace("396", "many"), "trace.csv:3: column ContextTokens: 'many'"),
        (AZURE_TEXT.replace("396", "1.5"), "trace.csv:3: column ContextTokens: '1.5'"),
        (AZURE_TEXT.replace("396", "inf"), "trace.csv:3: column ContextTokens: 'inf'"),
        (AZURE_TEXT.replace("109", "-1"), "trace.csv:3: column GeneratedTokens: '-1'"),
        (AZURE_TEXT.replace("2023-11-16 18:15:50", "noon"), "trace.csv:3: column TIMESTAMP"),
        (AZURE_TEXT.replace(",109", ""), "trace.csv:3: 2 columns, the header has 3"),
        (AZURE_TEXT.splitlines()[0] + "\n", "holds no request"),
        ('{"timestamp": 1}\n', "trace.csv:1: column input_length is missing"),
        (MOONCAKE_TEXT + "{oops\n", "trace.csv:3: is not JSON"),
        (MOONCAKE_TEXT + "[]\n", "trace.csv:3: is not a JSON object"),
        (MOONCAKE_TEXT.replace("[0, 14]", '"x"'), "trace.csv:2: column hash_ids"),
    ],
)
def test_errors_name_file_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TraceError) as caught:
        read_trace(write(tmp_path, text))
    assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"nowhere\.csv: cannot be read"):
        read_trace(tmp_path / "nowhere.csv")


def test_binary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    path.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(TraceError, match="not UTF-8"):
        read_trace(path)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_clearly(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = write(tmp_path_factory.mktemp("trace"), text.replace("\r", "\n"))
    with pytest.raises(TraceError, match="trace"):
        read_trace(path)


@pytest.mark.parametrize(
    ("name", "rows", "mean_rps"),
    [
        ("azure/AzureLLMInferenceTrace_conv.csv", 19366, 5.53),
        ("azure/AzureLLMInferenceTrace_code.csv", 8819, 2.57),
        ("mooncake/synthetic_trace.jsonl", 3993, None),
    ],
)
def test_published_traces(name: str, rows: int, mean_rps: float | None) -> None:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    requests = read_trace(path)
    assert len(requests) == rows
    if mean_rps:
        assert rows / requests[-1].arrival_s == pytest.approx(mean_rps, rel=0.01)

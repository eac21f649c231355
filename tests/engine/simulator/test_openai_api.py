import json

import pytest

from hmas.engine.features import RequestFeatures, encode_features
from hmas.engine.simulator.openai_api import (
    ApiError,
    LengthSource,
    Reply,
    decode_chat,
    decode_completion,
    usage_of,
)

LENGTHS = LengthSource(seed=1, max_model_len=1000)


def chat(**fields):
    body = {"model": "m", "messages": [{"role": "user", "content": "x" * 40}], **fields}
    return json.dumps(body).encode()


def completion(**fields):
    return json.dumps({"model": "m", "prompt": "x" * 40, **fields}).encode()


def sim_request(payload, decode=decode_chat):
    body, prompt_tokens = decode(payload)
    return LENGTHS.sim_request(body, payload, prompt_tokens, "id", 5.0)


def refusal(payload, decode=decode_chat):
    with pytest.raises(ApiError) as caught:
        sim_request(payload, decode)
    error = json.loads(caught.value.body())["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return caught.value.status, error


def test_prompt_tokens_are_estimated_from_text_and_counted_in_ids():
    assert decode_chat(chat())[1] == 14
    parts = [{"type": "text", "text": "x" * 8}, {"type": "image_url", "image_url": {"url": "u"}}]
    assert decode_chat(chat(messages=[{"role": "user", "content": parts}]))[1] == 6
    assert decode_completion(completion())[1] == 10
    assert decode_completion(completion(prompt=[1, 2, 3]))[1] == 3
    assert decode_completion(completion(prompt=["abcdefgh"]))[1] == 2


@pytest.mark.parametrize(
    ("payload", "param", "word"),
    [
        (b"{", None, "JSON"),
        (b"\xff", None, "JSON"),
        (b"[]", None, "object"),
        (b'{"model": "m"}', "messages", "messages"),
        (chat(messages=[]), "messages", "at least one"),
        (chat(messages="hello"), "messages", "array"),
        (chat(messages=[{"content": "no role"}]), "messages", "role"),
        (chat(max_tokens="many"), "max_tokens", "int"),
        (chat(max_tokens=0), "max_tokens", "at least 1"),
        (chat(n=2), "n", "n = 1"),
        (chat(max_tokens=2000), "max_tokens", "maximum context length"),
        (chat(messages=[{"role": "user", "content": "x" * 9000}]), "messages", None),
        (chat(vllm_xargs={"nested": {}}), "vllm_xargs", "array"),
        (chat(vllm_xargs={"hmas_output_tokens": 0}), "vllm_xargs", "at least 1"),
        (chat(vllm_xargs={"hmas_output_tokens": "12"}), "vllm_xargs", "whole number"),
    ],
)
def test_bad_chat_requests_name_the_field(payload, param, word):
    status, error = refusal(payload)
    assert status == 400
    assert error["type"] == "invalid_request_error"
    if word is None:
        assert error["code"] == "context_length_exceeded"
    else:
        assert error["param"] == param
        assert word in error["message"]


@pytest.mark.parametrize(
    ("payload", "param"),
    [
        (b'{"model": "m"}', "prompt"),
        (completion(prompt=""), "prompt"),
        (completion(prompt=[]), "prompt"),
        (completion(prompt=["a", "b"]), "prompt"),
    ],
)
def test_bad_completion_requests_name_the_field(payload, param):
    status, error = refusal(payload, decode_completion)
    assert (status, error["param"]) == (400, param)


def test_true_length_is_what_the_load_generator_says():
    request = sim_request(chat(vllm_xargs={"hmas_output_tokens": 77}, max_tokens=500))
    assert (request.output_tokens, request.max_tokens) == (77, 500)


def test_ignore_eos_runs_to_the_limit():
    assert sim_request(chat(ignore_eos=True, max_completion_tokens=321)).output_tokens == 321


def test_unstated_length_depends_on_the_body_and_the_seed():
    assert sim_request(chat()).output_tokens == sim_request(chat()).output_tokens
    drawn = {sim_request(chat(user=f"u{number}")).output_tokens for number in range(20)}
    assert len(drawn) > 10
    assert min(drawn) >= 1


def test_completions_default_to_sixteen_tokens():
    assert sim_request(completion(), decode_completion).max_tokens == 16


def test_features_come_from_the_gateway_with_the_prompt_counted_here():
    sent = RequestFeatures(request_id="gw", arrival_s=1.0, tenant="acme", prompt_tokens=9999)
    request = sim_request(chat(vllm_xargs={"hmas": encode_features(sent)}))
    assert (request.features.request_id, request.features.tenant) == ("gw", "acme")
    assert request.features.prompt_tokens == request.prompt_tokens == 14


@pytest.mark.parametrize("hmas", [None, "{", "x" * 5000, 7])
def test_absent_or_unreadable_features_are_unknown(hmas):
    extra = {} if hmas is None else {"vllm_xargs": {"hmas": hmas}}
    features = sim_request(chat(max_tokens=50, **extra)).features
    assert (features.request_id, features.arrival_s, features.known) == ("id", 5.0, False)
    assert features.predicted_output_tokens == 50


def events(text):
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def test_chat_stream_has_role_tokens_reason_and_usage():
    reply = Reply("id", 'a "model"', 7, chat=True)
    sent = events(reply.chunks(0, 2) + reply.chunks(2, 3) + reply.last("stop", usage_of(4, 3)))
    assert {event["model"] for event in sent} == {'a "model"'}
    assert {event["object"] for event in sent} == {"chat.completion.chunk"}
    deltas = [event["choices"][0]["delta"] for event in sent[:-1]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert sum("content" in delta for delta in deltas[1:]) == 3
    assert sent[-2]["choices"][0]["finish_reason"] == "stop"
    assert sent[-1]["choices"] == []
    assert sent[-1]["usage"]["total_tokens"] == 7


def test_completion_stream_has_text():
    reply = Reply("id", "m", 7, chat=False)
    sent = events(reply.chunks(0, 2) + reply.last("length", None))
    texts = [event["choices"][0]["text"] for event in sent]
    assert len([text for text in texts if text]) == 2
    assert sent[-1]["choices"][0]["finish_reason"] == "length"


def test_whole_answers_hold_the_streamed_text():
    for is_chat in (True, False):
        reply = Reply("id", "m", 7, chat=is_chat)
        whole = json.loads(reply.whole(3, "stop", usage_of(4, 3)))
        choice = whole["choices"][0]
        text = choice["message"]["content"] if is_chat else choice["text"]
        streamed = events(reply.chunks(0, 3) + reply.last("stop", None))
        pieces = [
            event["choices"][0].get("text") or event["choices"][0].get("delta", {}).get("content")
            for event in streamed
        ]
        assert text == "".join(piece for piece in pieces if piece)

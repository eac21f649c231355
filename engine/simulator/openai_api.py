"""The part of the OpenAI API that an engine answers: bodies, errors, chunks."""

from __future__ import annotations

import random
import zlib
from typing import Any, Final

import msgspec

from hmas.engine.features import (
    XARGS_KEY,
    InvalidFeaturesError,
    RequestFeatures,
    decode_features,
    length_bucket,
)
from hmas.engine.simulator.sequence import SimRequest

OUTPUT_TOKENS_KEY: Final = "hmas_output_tokens"
"""Key in ``vllm_xargs`` with the true output length; a load generator knows it."""

CHARACTERS_PER_TOKEN: Final = 4
TEMPLATE_TOKENS_PER_MESSAGE: Final = 4
COMPLETION_MAX_TOKENS: Final = 16
UNKNOWN_OUTPUT_TOKENS: Final = 256

XargValue = str | int | float | list[str | int | float]


class ApiError(Exception):
    """An answer with an OpenAI error body."""

    def __init__(
        self, status: int, message: str, *, code: str | None = None, param: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param

    def body(self) -> bytes:
        kind = {401: "authentication_error", 404: "not_found_error"}.get(
            self.status, "invalid_request_error" if self.status < 500 else "server_error"
        )
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        return msgspec.json.encode({"error": error})


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool = False


class Part(msgspec.Struct, frozen=True):
    text: str = ""


class Message(msgspec.Struct, frozen=True):
    role: str
    content: str | list[Part] | None = None

    def characters(self) -> int:
        if isinstance(self.content, list):
            return sum(len(part.text) for part in self.content)
        return len(self.content or "")


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """What chat and completion requests share; fields unknown here are ignored, as vLLM does."""

    model: str | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    n: int | None = 1
    ignore_eos: bool = False
    vllm_xargs: dict[str, XargValue] | None = None

    @property
    def wanted_tokens(self) -> int | None:
        return self.max_tokens


class ChatBody(Body, frozen=True, kw_only=True):
    messages: list[Message]
    max_completion_tokens: int | None = None

    @property
    def wanted_tokens(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens


class CompletionBody(Body, frozen=True, kw_only=True):
    prompt: str | list[int | str | list[int]]
    max_tokens: int | None = COMPLETION_MAX_TOKENS


_chat_decoder = msgspec.json.Decoder(ChatBody)
_completion_decoder = msgspec.json.Decoder(CompletionBody)


def decode_chat(payload: bytes) -> tuple[ChatBody, int]:
    """A chat request and its prompt tokens. Raises :class:`ApiError`."""
    body = _decoded(_chat_decoder, payload)
    _check(body)
    if not body.messages:
        raise ApiError(400, "messages must hold at least one message", param="messages")
    characters = sum(message.characters() for message in body.messages)
    return body, _tokens(characters) + TEMPLATE_TOKENS_PER_MESSAGE * len(body.messages)


def decode_completion(payload: bytes) -> tuple[CompletionBody, int]:
    """A completion request and its prompt tokens. Raises :class:`ApiError`."""
    body = _decoded(_completion_decoder, payload)
    _check(body)
    prompt: Any = body.prompt
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], str | list):
        if len(prompt) > 1:
            raise ApiError(400, "only one prompt per request is simulated", param="prompt")
        prompt = prompt[0]
    if not prompt:
        raise ApiError(400, "prompt must not be empty", param="prompt")
    return body, len(prompt) if isinstance(prompt, list) else _tokens(len(prompt))


def _decoded(decoder: msgspec.json.Decoder[Any], payload: bytes) -> Any:
    try:
        return decoder.decode(payload)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        param = path.strip("`.").split(".")[0].split("[")[0] or _missing(message)
        raise ApiError(400, str(error).replace("`$.", "`"), param=param) from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ApiError(400, f"the request body is not valid JSON: {error}") from error


def _missing(message: str) -> str | None:
    return message.split("`")[1] if "missing required field" in message else None


def _check(body: Body) -> None:
    if body.wanted_tokens is not None and body.wanted_tokens < 1:
        raise ApiError(400, "max_tokens must be at least 1", param="max_tokens")
    if body.n not in (None, 1):
        raise ApiError(400, "only n = 1 is simulated", param="n")


def _tokens(characters: int) -> int:
    return max(1, -(-characters // CHARACTERS_PER_TOKEN))


class LengthSource:
    """How long answers are: what the request says, else a draw that depends on its body."""

    def __init__(self, seed: int, max_model_len: int) -> None:
        self._seed = seed
        self._longest = max_model_len

    def sim_request(
        self, body: Body, payload: bytes, prompt_tokens: int, request_id: str, now_s: float
    ) -> SimRequest:
        """The simulated request behind an HTTP request. Raises :class:`ApiError`."""
        room = self._longest - prompt_tokens
        if room < 1 or (body.wanted_tokens or 0) > room:
            raise ApiError(
                400,
                f"This model's maximum context length is {self._longest} tokens. However, you"
                f" requested {body.wanted_tokens or 0} output tokens and your prompt contains"
                f" {prompt_tokens} input tokens. Please reduce the length of either one.",
                code="context_length_exceeded",
                param="max_tokens" if room >= 1 else "prompt",
            )
        most = body.wanted_tokens or room
        return SimRequest(
            features=_features(body, prompt_tokens, request_id, now_s, most),
            prompt_tokens=prompt_tokens,
            output_tokens=self._output_tokens(body, payload, most),
            max_tokens=most,
        )

    def _output_tokens(self, body: Body, payload: bytes, most: int) -> int:
        if body.ignore_eos and body.wanted_tokens is not None:
            return most
        stated = (body.vllm_xargs or {}).get(OUTPUT_TOKENS_KEY)
        if stated is None:
            draw = random.Random(zlib.crc32(payload) ^ self._seed)  # noqa: S311 - not a secret
            return max(1, int(draw.lognormvariate(4.6, 0.9)))
        if not isinstance(stated, int) or stated < 1:
            raise ApiError(
                400,
                f"vllm_xargs.{OUTPUT_TOKENS_KEY} must be a whole number of at least 1",
                param="vllm_xargs",
            )
        return stated


def _features(
    body: Body, prompt_tokens: int, request_id: str, now_s: float, most: int
) -> RequestFeatures:
    """What the gateway sent, with the prompt length counted here; unknown when unreadable."""
    bucket = length_bucket(prompt_tokens)
    encoded = (body.vllm_xargs or {}).get(XARGS_KEY)
    if isinstance(encoded, str):
        try:
            return msgspec.structs.replace(
                decode_features(encoded), prompt_tokens=prompt_tokens, length_bucket=bucket
            )
        except InvalidFeaturesError:
            pass
    return RequestFeatures(
        request_id=request_id,
        arrival_s=now_s,
        prompt_tokens=prompt_tokens,
        predicted_output_tokens=min(UNKNOWN_OUTPUT_TOKENS, most),
        length_bucket=bucket,
    )


WORDS: Final = (" the", " queue", " of", " a", " busy", " engine", " moves", " on", " and", " so")


class Reply:
    """Renders one answer: as chunks while tokens come out, or whole."""

    def __init__(self, request_id: str, model: str, created: int, *, chat: bool) -> None:
        self.id = f"{'chatcmpl' if chat else 'cmpl'}-{request_id}"
        self._chat = chat
        kind = ("chat.completion", "text_completion")[not chat]
        self._kind = kind
        self._model = model
        self._created = created
        stream_kind = f"{kind}.chunk" if chat else kind
        self._head = (
            f'data: {{"id":{_quoted(self.id)},"object":"{stream_kind}","created":{created},'
            f'"model":{_quoted(model)},"choices":['
        )

    def chunks(self, first: int, end: int) -> str:
        """One server-sent event for each of the output tokens ``first`` to ``end - 1``."""
        opening = self._role() if self._chat and first == 0 and end > 0 else ""
        return opening + "".join([self._chunk(index) for index in range(first, end)])

    def last(self, finish_reason: str, usage: dict[str, int] | None) -> str:
        """The end of a stream."""
        body = '"delta":{}' if self._chat else '"text":""'
        end = f'{self._head}{{"index":0,{body},"finish_reason":"{finish_reason}"}}]}}\n\n'
        if usage is not None:
            counts = msgspec.json.encode(usage).decode()
            end += f'{self._head}],"usage":{counts}}}\n\n'
        return end + "data: [DONE]\n\n"

    def whole(self, tokens: int, finish_reason: str, usage: dict[str, int]) -> bytes:
        """A complete JSON answer."""
        text = "".join([WORDS[index % len(WORDS)] for index in range(tokens)])
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": finish_reason}
        if self._chat:
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        return msgspec.json.encode(
            {
                "id": self.id,
                "object": self._kind,
                "created": self._created,
                "model": self._model,
                "choices": [choice],
                "usage": usage,
            }
        )

    def _role(self) -> str:
        delta = '"delta":{"role":"assistant","content":""}'
        return f'{self._head}{{"index":0,{delta},"finish_reason":null}}]}}\n\n'

    def _chunk(self, index: int) -> str:
        word = WORDS[index % len(WORDS)]
        body = f'"delta":{{"content":"{word}"}}' if self._chat else f'"text":"{word}"'
        return f'{self._head}{{"index":0,{body},"finish_reason":null}}]}}\n\n'


def usage_of(prompt_tokens: int, output_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": prompt_tokens + output_tokens,
    }


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()

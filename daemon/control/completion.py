"""One chat completion from any OpenAI-compatible endpoint: bounded in time, size and attempts."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
import openai
from openai import AsyncOpenAI
from tenacity import (
    AsyncRetrying,
    retry_if_exception,
    stop_after_attempt,
    wait_random_exponential,
)

from hmas.controllers.meta.base import RefusalKind
from hmas.daemon.control.settings import LlmSettings

ENVELOPE_BYTES: Final = 16_384
"""What a completion may hold beside the answer: ids, usage, the reasoning of some models."""
ESCAPED: Final = 6
"""Bytes that JSON may need for one character."""
MAX_PAUSE_S: Final = 4.0


class CompletionError(Exception):
    """No answer to look at; ``kind`` says why."""

    def __init__(self, kind: RefusalKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]


_decoder = msgspec.json.Decoder(_Completion)


class CompletionClient:
    """``complete`` returns text that nobody has looked at yet."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        key = settings.api_key
        self._client = AsyncOpenAI(
            base_url=str(settings.base_url),
            api_key=key.get_secret_value() if key else "none",
            timeout=settings.timeout_s,
            max_retries=0,
        )

    async def complete(self, prompt: str, response_format: dict[str, Any]) -> str:
        """The model's answer to one user message.

        Raises:
            CompletionError: nothing usable within the time limit, whatever went wrong.
        """
        limit_s = self._settings.timeout_s
        try:
            async with asyncio.timeout(limit_s):
                return await self._with_retries(prompt, response_format)
        except (TimeoutError, openai.APITimeoutError) as error:
            detail = f"no answer within {limit_s:g} s"
            raise CompletionError(RefusalKind.TIMEOUT, detail) from error
        except openai.APIStatusError as error:
            detail = f"status {error.status_code}"
            raise CompletionError(RefusalKind.HTTP_ERROR, detail) from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise CompletionError(RefusalKind.UNREACHABLE, str(cause) or repr(cause)) from error
        except openai.OpenAIError as error:
            raise CompletionError(RefusalKind.HTTP_ERROR, str(error)) from error

    async def close(self) -> None:
        await self._client.close()

    async def _with_retries(self, prompt: str, response_format: dict[str, Any]) -> str:
        attempts = AsyncRetrying(
            stop=stop_after_attempt(self._settings.attempts),
            wait=wait_random_exponential(multiplier=0.2, max=MAX_PAUSE_S),
            retry=retry_if_exception(is_worth_repeating),
            reraise=True,
        )
        body: bytes = await attempts(self._post, prompt, response_format)
        return self._content(body)

    async def _post(self, prompt: str, response_format: dict[str, Any]) -> bytes:
        """The raw completion, cut off when it is too long."""
        settings = self._settings
        limit = settings.max_answer_bytes * ESCAPED + ENVELOPE_BYTES
        body = bytearray()
        fields: dict[str, Any] = {
            "model": settings.model,
            "messages": [{"role": "user", "content": prompt}],
            "response_format": response_format,
            "max_completion_tokens": settings.max_tokens,
            "temperature": settings.temperature,
        }
        if settings.seed is not None:
            fields["seed"] = settings.seed
        streaming = self._client.chat.completions.with_streaming_response
        async with streaming.create(**fields) as response:
            async for chunk in response.iter_bytes():
                body += chunk
                if len(body) > limit:
                    detail = f"more than {limit} bytes"
                    raise CompletionError(RefusalKind.TOO_LONG, detail)
        return bytes(body)

    def _content(self, body: bytes) -> str:
        try:
            completion = _decoder.decode(body)
        except (msgspec.MsgspecError, RecursionError) as error:
            detail = f"not a chat completion: {error}"
            raise CompletionError(RefusalKind.HTTP_ERROR, detail) from error
        if not completion.choices:
            raise CompletionError(RefusalKind.HTTP_ERROR, "a completion without choices")
        content = completion.choices[0].message.content or ""
        if len(content.encode("utf-8", "replace")) > self._settings.max_answer_bytes:
            detail = f"more than {self._settings.max_answer_bytes} bytes"
            raise CompletionError(RefusalKind.TOO_LONG, detail)
        return content


def is_worth_repeating(error: BaseException) -> bool:
    """Lost connections, 429 and 5xx; a timeout has used up the time already."""
    if isinstance(error, openai.APITimeoutError):
        return False
    if isinstance(error, openai.APIStatusError):
        return error.status_code == 429 or error.status_code >= 500
    return isinstance(error, openai.APIConnectionError)

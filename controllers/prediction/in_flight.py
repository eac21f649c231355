"""What an engine holds, counted where its requests pass."""

from __future__ import annotations

from hmas.controllers.prediction.cost_features import Load


class InFlight:
    """Requests sent to one engine and not finished; O(1) each. Unknown ids change nothing."""

    def __init__(self) -> None:
        self._prompts: dict[str, int] = {}
        self._prefilling: dict[str, int] = {}
        self._tokens = 0
        self._prefilling_tokens = 0

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._prompts

    def sent(self, request_id: str, prompt_tokens: int) -> None:
        self.finished(request_id)
        self._prompts[request_id] = self._prefilling[request_id] = prompt_tokens
        self._tokens += prompt_tokens
        self._prefilling_tokens += prompt_tokens

    def first_token(self, request_id: str) -> None:
        self._prefilling_tokens -= self._prefilling.pop(request_id, 0)

    def finished(self, request_id: str) -> None:
        """However it ended."""
        self.first_token(request_id)
        self._tokens -= self._prompts.pop(request_id, 0)

    def load(self, prompt_tokens: int, output_tokens: int, others: int = 0) -> Load:
        """What one more request would find.

        ``others`` went there by another way; they are taken to be like those counted here, or
        like this request where none is.
        """
        own = len(self._prompts)
        share = (own + others) / own if own else 1.0
        return Load(
            prompt_tokens=prompt_tokens,
            output_tokens=output_tokens,
            in_flight=own + others,
            prefilling=round(len(self._prefilling) * share),
            in_flight_tokens=round(self._tokens * share) if own else others * prompt_tokens,
            prefilling_tokens=round(self._prefilling_tokens * share),
        )

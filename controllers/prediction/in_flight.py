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

    def load(self, prompt_tokens: int, output_tokens: int) -> Load:
        """What one more request would find."""
        return Load(
            prompt_tokens=prompt_tokens,
            output_tokens=output_tokens,
            in_flight=len(self._prompts),
            prefilling=len(self._prefilling),
            in_flight_tokens=self._tokens,
            prefilling_tokens=self._prefilling_tokens,
        )

"""Which vLLM versions the plug-in knows, and what differs between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SUPPORTED: Final[Mapping[str, str]] = {
    "0.32.0": "step-by-step differential test",
    "0.33.0": "read against 0.32.0: same scheduler interface",
    "0.28.0": "read: N_run through max_num_running_reqs",
    "0.24.0": "read: N_run through max_num_running_reqs",
}
"""Version, and how its private scheduler interface was checked."""

FORCE_VARIABLE: Final = "HMAS_VLLM_FORCE"


class UnsupportedVllmError(RuntimeError):
    """This vLLM's scheduler interface is unknown; running on would be a guess."""


def check_version(version: str, environ: Mapping[str, str]) -> bool:
    """Whether ``version`` is a supported one; False when it runs only because it is forced.

    Raises:
        UnsupportedVllmError: unknown, and not forced.
    """
    if version.partition("+")[0] in SUPPORTED:
        return True
    if environ.get(FORCE_VARIABLE) == "1":
        return False
    known = ", ".join(SUPPORTED)
    raise UnsupportedVllmError(
        f"hmas does not know the scheduler of vLLM {version} (it knows {known}). Install one of "
        f"these, run vLLM without --scheduler-cls, or set {FORCE_VARIABLE}=1 to run untested."
    )


class EngineKnobs:
    """N_run and B_token of one live scheduler, with the values it was started with.

    Since 0.32 ``max_num_active_reqs`` gates admission alone. Before, only
    ``max_num_running_reqs`` exists, which vLLM asserts never to be below what runs.
    """

    def __init__(self, scheduler: Any) -> None:
        self._scheduler = scheduler
        self._gates_admission = hasattr(scheduler, "max_num_active_reqs")
        self.stock_n_run: int = (
            min(scheduler.max_num_active_reqs, scheduler.max_num_running_reqs)
            if self._gates_admission
            else scheduler.max_num_running_reqs
        )
        self.stock_tokens: int = scheduler.max_num_scheduled_tokens
        self.most_tokens = min(self.stock_tokens, scheduler.scheduler_config.max_num_batched_tokens)

    def limit(self, n_run: int, token_budget: int) -> None:
        """Enforce from the next step on; at their upper limits the stock values return."""
        scheduler = self._scheduler
        scheduler.max_num_scheduled_tokens = (
            token_budget if token_budget < self.most_tokens else self.stock_tokens
        )
        if self._gates_admission:
            scheduler.max_num_active_reqs = n_run
        else:
            scheduler.max_num_running_reqs = max(n_run, len(scheduler.running))

    def restore(self) -> None:
        """What the operator started vLLM with."""
        self.limit(self.stock_n_run, self.most_tokens)

"""The historical safety prior for requests that nothing else explains (paper 3.2, C)."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from typing import Final

from hmas.controllers.prediction.sliding import SlidingSample
from hmas.engine.features import TaskType

DEFAULT_BYTES_PER_TOKEN: Final = 4.0
MIN_SAMPLES: Final = 8
WINDOW: Final = 512
MAX_TENANTS: Final = 1000


class _Recent:
    """Counts of the task types of the last ``WINDOW`` recognised requests."""

    __slots__ = ("_counts", "_order")

    def __init__(self) -> None:
        self._order: deque[TaskType] = deque()
        self._counts: Counter[TaskType] = Counter()

    def add(self, task_type: TaskType) -> None:
        if len(self._order) == WINDOW:
            self._counts[self._order.popleft()] -= 1
        self._order.append(task_type)
        self._counts[task_type] += 1

    def most_frequent(self) -> TaskType | None:
        if len(self._order) < MIN_SAMPLES:
            return None
        return max(self._counts, key=self._counts.__getitem__)


class TaskPrior:
    """The most frequent task of a tenant, else of everyone; only recognised requests count."""

    def __init__(self) -> None:
        self._everyone = _Recent()
        self._tenants: OrderedDict[str, _Recent] = OrderedDict()

    def add(self, tenant: str, task_type: TaskType) -> None:
        recent = self._tenants.get(tenant)
        if recent is None:
            recent = self._tenants[tenant] = _Recent()
            if len(self._tenants) > MAX_TENANTS:
                self._tenants.popitem(last=False)
        else:
            self._tenants.move_to_end(tenant)
        recent.add(task_type)
        self._everyone.add(task_type)

    def task_type(self, tenant: str) -> TaskType | None:
        recent = self._tenants.get(tenant)
        own = recent.most_frequent() if recent is not None else None
        return own or self._everyone.most_frequent()


class TokenRatio:
    """UTF-8 bytes of prompt per prompt token, learned from what engines report."""

    def __init__(self) -> None:
        self._recent = SlidingSample()

    def observe(self, prompt_bytes: int, prompt_tokens: int) -> None:
        if prompt_bytes > 0 and prompt_tokens > 0:
            self._recent.add(prompt_bytes / prompt_tokens)

    def tokens(self, prompt_bytes: int) -> int:
        """Estimated prompt tokens, rounded up."""
        ratio = DEFAULT_BYTES_PER_TOKEN
        if len(self._recent) >= MIN_SAMPLES:
            ratio = self._recent.quantile(0.5) or ratio
        return -int(-prompt_bytes // ratio)

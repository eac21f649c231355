"""Prometheus text of a simulated engine, under vLLM's names."""

from __future__ import annotations

from collections import Counter

from hmas.engine.events import Event, RequestFinished
from hmas.engine.simulator.batching import SimulatedEngine


class EngineMetrics:
    """Counts what the engine reports; gauges are read when asked for."""

    def __init__(self, engine: SimulatedEngine, model: str) -> None:
        self._engine = engine
        self._labels = f'model_name="{model}",engine="0"'
        self._prompt_tokens = 0
        self._generation_tokens = 0
        self._outcomes: Counter[str] = Counter()

    def observe(self, event: Event) -> None:
        if isinstance(event, RequestFinished):
            self._prompt_tokens += event.prompt_tokens
            self._generation_tokens += event.output_tokens
            self._outcomes[event.outcome.value] += 1

    def render(self) -> str:
        engine = self._engine
        lines = [
            *self._metric("num_requests_running", "gauge", engine.running),
            *self._metric("num_requests_waiting", "gauge", engine.waiting),
            *self._metric("kv_cache_usage_perc", "gauge", engine.kv_used),
            *self._metric("num_preemptions_total", "counter", engine.preemptions),
            *self._metric("prompt_tokens_total", "counter", self._prompt_tokens),
            *self._metric("generation_tokens_total", "counter", self._generation_tokens),
            "# TYPE vllm:request_success_total counter",
        ]
        for outcome, count in sorted(self._outcomes.items()):
            labels = f'{self._labels},finished_reason="{outcome}"'
            lines.append(f"vllm:request_success_total{{{labels}}} {count}")
        return "\n".join(lines) + "\n"

    def _metric(self, name: str, kind: str, value: float) -> tuple[str, str]:
        return f"# TYPE vllm:{name} {kind}", f"vllm:{name}{{{self._labels}}} {value:g}"

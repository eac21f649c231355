"""Settings of the gateway: frozen, unknown keys are errors."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    SecretStr,
    field_validator,
    model_validator,
)

from hmas.controllers.prediction.cost_features import EngineShape
from hmas.controllers.prediction.hardware import GPUS, engine_shape
from hmas.engine.directive import StepModel
from hmas.engine.features import TaskType

Name = Annotated[str, Field(min_length=1, max_length=256)]
Positive = Annotated[float, Field(gt=0)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class StepModelSettings(_Frozen):
    """Coefficients of one engine step in ms, for predictions without a trained model."""

    base_ms: Annotated[float, Field(ge=0)]
    prefill_ms: Annotated[float, Field(ge=0)]
    context_ms: Annotated[float, Field(ge=0)]
    sequence_ms: Annotated[float, Field(ge=0)]
    prefill_quadratic_ms: Annotated[float, Field(ge=0)] = 0.0

    def step_model(self) -> StepModel:
        return StepModel(**self.model_dump())


class HardwareSettings(_Frozen):
    """What an engine runs on and which model it serves: what trained costs depend on.

    Attributes:
        gpu: one of T4, V100, A10, A100, A100-80GB, L40S, H100, H200.
        gpus: how many of them serve the model together.
        parameters_b: weights of the model in billions.
        layers, heads, vocabulary: ``num_hidden_layers``, ``num_attention_heads`` and
            ``vocab_size`` of the model's ``config.json``.
    """

    gpu: Name
    gpus: Annotated[int, Field(ge=1, le=1024)] = 1
    parameters_b: Annotated[float, Field(gt=0, le=100_000)]
    layers: Annotated[int, Field(ge=1, le=10_000)]
    heads: Annotated[int, Field(ge=1, le=10_000)]
    vocabulary: Annotated[int, Field(ge=1, le=10_000_000)]

    @field_validator("gpu")
    @classmethod
    def _known(cls, gpu: str) -> str:
        if gpu not in GPUS:
            raise ValueError(
                f"unknown GPU {gpu!r}: write one of {', '.join(GPUS)}, or leave `hardware` out"
            )
        return gpu

    def shape(self) -> EngineShape:
        return engine_shape(**self.model_dump())


class EngineTarget(_Frozen):
    """One engine: any server that speaks the OpenAI API.

    Attributes:
        models: names it serves; empty: asked from its ``/v1/models``.
        max_in_flight: requests it may hold at once, waiting ones included.
        accepts_features: send x_r in ``vllm_xargs``; false for servers that refuse unknown fields.
        priority_scheduling: it runs with ``--scheduling-policy priority``, so ``priority`` may
            be sent in the body (in vLLM's polarity); otherwise the field is taken out.
        step_model: prior knowledge of its speed; None: learn from finished requests.
        hardware: what ``gateway.cost_model`` has to know of it; None: only what was measured
            there, and its step model, say what requests cost.
        pump: it runs without the plug-in, so the gateway holds requests back itself and sends
            them one by one in the topology's order; directives come to the gateway.
        pump_max_running: requests that the pump sends at once while a directive holds, all
            workers together; at most what the engine batches (vLLM's ``--max-num-seqs``).
        pump_kv_tokens: tokens that the engine's KV cache holds (vLLM logs it when it starts);
            None: the pump does not fence memory.
        control: endpoint for directives; default ``ipc://<runtime_dir>/<engine_id>.control``.
        events: endpoint of its events; default ``ipc://<runtime_dir>/<engine_id>.events``.
        curve_dir: CURVE keys, for endpoints that start with ``tcp://``.
    """

    engine_id: Name = "engine0"
    url: HttpUrl = HttpUrl("http://127.0.0.1:8000")
    models: tuple[Name, ...] = ()
    api_key: SecretStr | None = None
    max_in_flight: Annotated[int, Field(ge=1)] = 5000
    accepts_features: bool = True
    priority_scheduling: bool = False
    step_model: StepModelSettings | None = None
    hardware: HardwareSettings | None = None
    pump: bool = False
    pump_max_running: Annotated[int, Field(ge=1, le=100_000)] = 256
    pump_kv_tokens: Annotated[int, Field(ge=1024, le=2**40)] | None = None
    control: str | None = None
    events: str | None = None
    curve_dir: Path | None = None

    @property
    def base_url(self) -> str:
        """Without a trailing slash and without ``/v1``, which the gateway adds."""
        return str(self.url).rstrip("/").removesuffix("/v1")


class Tier(_Frozen):
    """What a client may do, and the defaults of its requests.

    Attributes:
        weight: share under fair topologies.
        priority: higher = more important; a client may ask for less, only a trusted one for more.
        importance: default imp_r of Eq. 14, in [0.5, 1].
        max_in_flight: requests at once; None: only the gateway's own bound.
        trusted: its claims (tenant, priority, importance) are believed: another gateway or a
            load generator, never an end user.
        learn: models may learn from its requests: hashed features, counts and lengths are kept,
            never text.
        task_type, slo_ttft_ms, slo_tpot_ms: taken when the request itself does not say.
        min_slo_ttft_ms, min_slo_tpot_ms: the strictest targets it may claim.
    """

    tenant: Name = "default"
    weight: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    priority: Annotated[int, Field(ge=-1000, le=1000)] = 0
    importance: Annotated[float, Field(ge=0.5, le=1)] = 0.75
    max_in_flight: Annotated[int, Field(ge=1)] | None = None
    trusted: bool = False
    learn: bool = False
    task_type: TaskType | None = None
    slo_ttft_ms: Positive | None = None
    slo_tpot_ms: Positive | None = None
    min_slo_ttft_ms: Positive | None = None
    min_slo_tpot_ms: Positive | None = None


class ApiKey(Tier):
    """A client's key; several keys may share one tenant (then also its in-flight limit)."""

    key: SecretStr

    @field_validator("key")
    @classmethod
    def _usable(cls, key: SecretStr) -> SecretStr:
        text = key.get_secret_value()
        if len(text) < 8 or not text.isascii() or any(c.isspace() for c in text):
            raise ValueError("a key needs at least 8 ASCII characters and no white space")
        return key


class Faults(_Frozen):
    """Faults on purpose, for drills; never set in production.

    Attributes:
        perception_delay_ms: makes perception's learned stage this slow; dispatch must not mind.
    """

    perception_delay_ms: Annotated[float, Field(ge=0, le=1000)] = 0.0


class GatewaySettings(_Frozen):
    """Everything the gateway can be told.

    Attributes:
        workers: processes that share the port (SO_REUSEPORT).
        max_in_flight: requests in the gateway at once, over all workers; beyond: 429.
        queue_ttl_s: how long a request that engines refuse with 503 is offered again.
        max_requeued: requests that may wait that way at once, per worker.
        read_timeout_s: longest silence of an engine, before or in the middle of an answer.
        max_buffered_bytes: longest answer of known length that is read before it is passed on.
        curve_dir: CURVE keys, for endpoints of the control link that start with ``tcp://``.
        tagging_budget_ms: perception's share of a request's latency.
        classifier: the learned model of task types: ``shipped`` with the package, the path of a
            file, or ``off`` for the rules alone; it costs a first byte 0.2 ms.
        length_model: who predicts output lengths: ``shipped`` with the package, the path of a
            file, or ``off`` for what finished of late alone; costs as much as ``classifier``.
        cost_model: who predicts TTFT and TPOT where ``hardware`` of an engine is known:
            ``shipped`` with the package, the path of a file, or ``off``; beside it stand the
            step-time model and what was measured, and the smallest error decides per engine.
        length_challenger: a second length model, the path of a file (or ``shipped``), that is
            scored on finished requests and takes over when it is clearly better; a new file in
            its place is read within seconds; ``off``: none.
    """

    gateway_id: Name = "gateway0"
    host: Name = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8001
    workers: Annotated[int, Field(ge=1, le=256)] = 1
    engines: Annotated[tuple[EngineTarget, ...], Field(min_length=1)] = (EngineTarget(),)
    keys: tuple[ApiKey, ...] = ()
    anonymous: Tier = Tier()
    max_in_flight: Annotated[int, Field(ge=1)] = 5000
    max_body_bytes: Annotated[int, Field(ge=1024)] = 32 * 1024 * 1024
    max_buffered_bytes: Annotated[int, Field(ge=1024)] = 16 * 1024 * 1024
    body_timeout_s: Positive = 60.0
    connect_timeout_s: Positive = 2.0
    read_timeout_s: Positive = 600.0
    queue_ttl_s: Positive = 60.0
    max_requeued: Annotated[int, Field(ge=0)] = 1000
    retry_after_cap_s: Annotated[int, Field(ge=1, le=3600)] = 30
    health_interval_s: Positive = 2.0
    health_timeout_s: Positive = 2.0
    drain_timeout_s: Annotated[float, Field(ge=0)] = 30.0
    tagging_budget_ms: Positive = 2.0
    classifier: Annotated[str, Field(min_length=1, max_length=4096)] = "off"
    length_model: Annotated[str, Field(min_length=1, max_length=4096)] = "off"
    cost_model: Annotated[str, Field(min_length=1, max_length=4096)] = "shipped"
    length_challenger: Annotated[str, Field(min_length=1, max_length=4096)] = "off"
    events_flush_s: Positive = 0.05
    max_buffered_events: Annotated[int, Field(ge=1)] = 20_000
    events_endpoint: str | None = None
    notices_endpoint: str | None = None
    curve_dir: Path | None = None
    access_log: bool = True
    faults: Faults = Faults()

    @field_validator("classifier", "length_model", "cost_model", "length_challenger", mode="before")
    @classmethod
    def _off(cls, value: object) -> object:
        """YAML reads a bare ``off`` as false."""
        return "off" if value is False else value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _refuse_repeats("engines: engine_id", (engine.engine_id for engine in self.engines))
        _refuse_repeats("keys: key", (key.key.get_secret_value() for key in self.keys), secret=True)
        for name in ("events_endpoint", "notices_endpoint"):
            endpoint = getattr(self, name)
            if endpoint and not endpoint.startswith("ipc://") and self.curve_dir is None:
                raise ValueError(f"{name} {endpoint}: only ipc:// works without curve_dir")
        for engine in self.engines:
            if engine.pump and engine.pump_max_running < self.workers:
                raise ValueError(
                    f"pump_max_running of {engine.engine_id} is {engine.pump_max_running}:"
                    f" give each of the {self.workers} workers at least one"
                )
        if self.length_challenger != "off" and self.length_model == "off":
            raise ValueError("length_challenger has nothing to challenge: set length_model, too")
        if not self.keys and not is_loopback(self.host):
            raise ValueError(
                f"host {self.host!r} is reachable from other machines, but no keys are"
                " configured: add gateway.keys, or bind to 127.0.0.1"
            )
        return self

    def runtime_endpoints(self, runtime_dir: Path) -> tuple[str, str]:
        """Where events go and where notices come from."""
        return (
            self.events_endpoint or f"ipc://{runtime_dir}/gateway-events",
            self.notices_endpoint or f"ipc://{runtime_dir}/notices",
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host`` (an unknown name counts as reachable)."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _refuse_repeats(field: str, values: Iterable[str], *, secret: bool = False) -> None:
    repeated = sorted(value for value, count in Counter(values).items() if count > 1)
    if repeated:
        shown = "the same value" if secret else ", ".join(repeated)
        raise ValueError(f"{field} must be unique, given twice: {shown}")

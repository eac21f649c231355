"""Real vLLM scheduler objects without a model: what benchmarks and differential tests step.

Imports vLLM and ``hmas.engine`` only, so it runs inside the vLLM environment.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("HMAS_LINK", "off")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

import torch
from vllm.config import CacheConfig, ModelConfig, SchedulerConfig, VllmConfig
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "dtype": "float32",
    "vocab_size": 1024,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 65536,
}
EOS = 0


@dataclass(frozen=True)
class Engine:
    """What an engine is started with."""

    max_num_seqs: int = 64
    max_num_batched_tokens: int = 2048
    blocks: int = 4096
    block_size: int = 16
    max_model_len: int = 8192
    prefix_caching: bool = True
    long_prefill: int = 0
    policy: str = "fcfs"
    asynchronous: bool = False


@cache
def model_directory() -> tempfile.TemporaryDirectory[str]:
    """Just the configuration of a model, gone when this process ends."""
    directory = tempfile.TemporaryDirectory(prefix="hmas-model-")
    (Path(directory.name) / "config.json").write_text(json.dumps(_CONFIG))
    return directory


def vllm_config(engine: Engine) -> VllmConfig:
    model = ModelConfig(
        model=model_directory().name, skip_tokenizer_init=True, max_model_len=engine.max_model_len
    )
    scheduler = SchedulerConfig(
        max_num_seqs=engine.max_num_seqs,
        max_num_batched_tokens=engine.max_num_batched_tokens,
        max_model_len=engine.max_model_len,
        long_prefill_token_threshold=engine.long_prefill,
        enable_chunked_prefill=True,
        is_encoder_decoder=False,
        policy=engine.policy,
        async_scheduling=engine.asynchronous,
    )
    cache = CacheConfig(
        block_size=engine.block_size,
        cache_dtype="auto",
        enable_prefix_caching=engine.prefix_caching,
    )
    cache.num_gpu_blocks = engine.blocks
    return VllmConfig(model_config=model, scheduler_config=scheduler, cache_config=cache)


def make_scheduler(scheduler_class: Any, engine: Engine) -> Any:
    """A live scheduler of ``scheduler_class`` with a KV cache manager and no model."""
    config = vllm_config(engine)
    config.scheduler_config.async_scheduling = engine.asynchronous
    spec = FullAttentionSpec(
        block_size=engine.block_size, num_kv_heads=1, head_size=1, dtype=torch.float32
    )
    kv_cache = KVCacheConfig(
        num_blocks=engine.blocks,
        kv_cache_tensors=[],
        kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)],
    )
    return scheduler_class(
        vllm_config=config,
        kv_cache_config=kv_cache,
        structured_output_manager=StructuredOutputManager(config),
        block_size=engine.block_size,
        log_stats=True,
    )


def make_request(
    name: str,
    prompt: list[int],
    max_tokens: int,
    *,
    block_size: int,
    arrival_time: float = 0.0,
    priority: int = 0,
    extra_args: dict[str, Any] | None = None,
    eos: bool = False,
) -> Request:
    global _hasher  # noqa: PLW0603 - vLLM's own hash seed is process-wide too
    if _hasher is None or _hasher[0] != block_size:
        init_none_hash(sha256)
        _hasher = (block_size, get_request_block_hasher(block_size, sha256))
    parameters = SamplingParams(ignore_eos=not eos, max_tokens=max_tokens, extra_args=extra_args)
    parameters.update_from_generation_config({}, EOS)
    return Request(
        request_id=name,
        prompt_token_ids=prompt,
        sampling_params=parameters,
        pooling_params=None,
        arrival_time=arrival_time,
        priority=priority,
        block_hasher=_hasher[1],
    )


_hasher: tuple[int, Any] | None = None


def model_output(output: Any, scheduler: Any) -> ModelRunnerOutput:
    """What a model would return for ``output``: one token for each request past its prompt.

    To be called right after ``schedule``, when computed tokens include those of this step.
    """
    names = list(output.num_scheduled_tokens)
    tokens: list[list[int]] = []
    for name in names:
        request = scheduler.requests.get(name)
        if request is None or request.is_prefill_chunk:
            tokens.append([])
        else:
            position = request.num_computed_tokens - request.num_prompt_tokens
            tokens.append([token_of(name, position)])
    return ModelRunnerOutput(
        req_ids=names,
        req_id_to_index={name: index for index, name in enumerate(names)},
        sampled_token_ids=tokens,
        logprobs=None,
        prompt_logprobs_dict={},
        pooler_output=[],
    )


def token_of(name: str, position: int) -> int:
    """The same token for the same position whatever ran before, never end-of-sequence."""
    return 1 + (sum(name.encode()) * 31 + position * 7) % 1000

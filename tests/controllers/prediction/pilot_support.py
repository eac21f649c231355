"""A folder like LLM-Pilot's with a known law: two models, two GPUs, one and four users."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

GPUS = """,gpu,gpu_n_sms,gpu_tflops_cuda_mixed,gpu_tflops_tc_fp16,gpu_memory_capacity_gb,\
gpu_memory_bandwidth,gpu_system_interface_gen,gpu_compute_capability,gpu_is_nvlink,gpu_n_gpus
0,1 x A100,108,-1.0,312.0,40,1555,4,8.0,False,1
1,2 x H100,132,-1.0,1979.0,80,3350,5,9.0,True,2
"""
MODELS = """model,model_is_flash_attention,model_n_parameters,model_is_encoder_decoder,\
model_n_heads,model_n_layers,model_torch_dtype,model_vocabulary_size
llama-7b,TRUE,7,FALSE,32,32,float16,32000
flan,FALSE,3,TRUE,32,24,float32,32128
"""
MODEL_FACTOR = {"llama-7b": 2.0, "flan": 1.0}
GPU_FACTOR = {"A100": 2.0, "H100": 1.0}


def write_pilot(data: Path, per_case: int = 60) -> None:
    """TTFT = (20 + tokens // 10) · f · users, then 10 · f ms per token, f of model and GPU."""
    folder = data / "llm_pilot"
    folder.mkdir(parents=True)
    (folder / "gpu_features.csv").write_text(GPUS)
    (folder / "llm_features.csv").write_text(MODELS)
    chance = np.random.default_rng(5)
    cases = [
        _case(model, gpus, users, per_case, chance)
        for model in MODEL_FACTOR
        for gpus in ("1 x A100", "2 x H100")
        for users in (1, 4)
    ]
    pd.concat(cases).to_parquet(folder / "llm_pilot_requests.parquet")


def _case(
    model: str, gpus: str, users: int, rows: int, chance: np.random.Generator
) -> pd.DataFrame:
    count, gpu = gpus.split(" x ")
    factor = MODEL_FACTOR[model] * GPU_FACTOR[gpu]
    prompt, output = chance.integers(10, 500, rows), chance.integers(1, 30, rows)
    ttft = (20.0 + prompt // 10) * factor * users
    decode = 10.0 * factor * (output - 1)
    latency = ttft + decode + 5
    turns = latency.reshape(users, -1)
    begun = np.cumsum(turns, axis=1) - turns
    return pd.DataFrame(
        {
            "file": f"{model}_{gpu}_{users}",
            "model": model,
            "gpu_type": gpu,
            "n_gpus": int(count),
            "num_users": users,
            "start_timestamp": begun.ravel().astype(np.int64),
            "n_input_tokens": prompt,
            "n_output_tokens": output,
            "latency_ms": latency,
            "delay0_ms": 5.0,
            "ttft_ms": ttft,
            "decode_mean_ms": np.where(output > 1, 10.0 * factor, np.nan),
            "decode_sum_ms": decode,
        }
    )

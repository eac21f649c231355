"""LLM-Pilot's measurements as rows of features and targets (CDLA-Permissive-2.0).

https://github.com/IBM/LLM-performance-prediction: ten models on fourteen GPU set-ups, each
with 1 to 128 users who ask again as soon as they are answered, 120 s per case.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from numpy.typing import NDArray

from hmas.controllers.prediction.cost_features import EngineShape, engine_features, rows

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Side = Literal["left", "right"]

FOLDER: Final = "llm_pilot"
LICENCE: Final = "CDLA-Permissive-2.0"
SOURCE: Final = "LLM-Pilot (Lazuka et al., SC '24), github.com/IBM/LLM-performance-prediction"
DENSE_TFLOPS: Final = {"H100": 989.5}
"""The set lists twice as much for it: the rate with structured sparsity."""
_FILES: Final = ("gpu_features.csv", "llm_features.csv", "llm_pilot_requests.parquet")
_COLUMNS: Final = (
    "file",
    "model",
    "gpu_type",
    "n_gpus",
    "num_users",
    "start_timestamp",
    "n_input_tokens",
    "n_output_tokens",
    "latency_ms",
    "delay0_ms",
    "ttft_ms",
    "decode_mean_ms",
    "decode_sum_ms",
)
_BITS: Final = {"float32": 32, "float16": 16, "bfloat16": 16}


@dataclass(frozen=True, slots=True)
class CostRows:
    """Rows in order of case and start; a target that a request does not have is NaN.

    Attributes:
        features: (rows, FEATURES), see ``cost_features``.
        targets: per name one value per row, as :func:`targets_of` defines them.
        cases: number of the case (model, GPU set-up, users) of each row.
        pairs: number of the model-GPU pair of each row.
        raw: measured columns that cases are added up from.
        data_hash: of the files that were read.
    """

    features: NDArray[np.float32]
    targets: Mapping[str, Floats]
    cases: NDArray[np.int64]
    pairs: NDArray[np.int64]
    raw: Mapping[str, Floats]
    data_hash: str


def read_rows(data: Path) -> CostRows:
    """All requests of ``data/llm_pilot``.

    Raises:
        FileNotFoundError: the folder or a file of it is absent.
    """
    folder = data / FOLDER
    table = _table(folder)
    shapes = dict(_shapes(folder, table))
    pair_names = (table["model"] + "|" + table["gpu"]).to_numpy(dtype=str)
    names, pairs = np.unique(pair_names, return_inverse=True)
    engines = np.array([engine_features(shapes[str(name)]) for name in names])[pairs]
    raw = {
        name: table[name].to_numpy(dtype=np.float64)
        for name in _COLUMNS
        if name not in ("file", "model", "gpu_type")
    }
    cases = table["case"].to_numpy(dtype=np.int64)
    return CostRows(
        features=rows(engines, _loads(raw, cases)),
        targets=targets_of(raw),
        cases=cases,
        pairs=pairs.astype(np.int64),
        raw=raw,
        data_hash=_hash(folder),
    )


def targets_of(raw: Mapping[str, Floats]) -> dict[str, Floats]:
    """Per request, all as measured, nothing clipped.

    ``ttft_ms``: prefill time, from the acceptance of the request to its first token.
    ``tpot_ms``: mean time between its output tokens (needs two).
    ``latency_per_token_ms``: end-to-end latency over output tokens.
    ``throughput_tokens_s``: output tokens over end-to-end latency.
    """
    per_token = raw["latency_ms"] / raw["n_output_tokens"]
    return {
        "ttft_ms": raw["ttft_ms"],
        "tpot_ms": raw["decode_mean_ms"],
        "latency_per_token_ms": per_token,
        "throughput_tokens_s": 1000 / per_token,
    }


def _table(folder: Path) -> pd.DataFrame:
    import pandas as pd

    table = pd.read_parquet(folder / "llm_pilot_requests.parquet", columns=list(_COLUMNS))
    table["case"] = pd.factorize(table["file"].astype(str), sort=True)[0]
    table["model"] = table["model"].astype(str)
    table["gpu"] = table["n_gpus"].astype(str) + " x " + table["gpu_type"].astype(str)
    order = ["case", "start_timestamp"]
    return table.sort_values(order, kind="stable").reset_index(drop=True)


def _shapes(folder: Path, table: pd.DataFrame) -> Iterator[tuple[str, EngineShape]]:
    gpus = {line["gpu"]: line for line in _lines(folder / "gpu_features.csv")}
    models = {line["model"]: line for line in _lines(folder / "llm_features.csv")}
    for model, gpu in table[["model", "gpu"]].drop_duplicates().itertuples(index=False):
        yield f"{model}|{gpu}", _shape(str(gpu), gpus[gpu], models[model])


def _shape(name: str, gpu: Mapping[str, str], model: Mapping[str, str]) -> EngineShape:
    tensor, mixed = float(gpu["gpu_tflops_tc_fp16"]), float(gpu["gpu_tflops_cuda_mixed"])
    return EngineShape(
        gpus=int(gpu["gpu_n_gpus"]),
        memory_gb=float(gpu["gpu_memory_capacity_gb"]),
        bandwidth_gb_s=float(gpu["gpu_memory_bandwidth"]),
        tflops=DENSE_TFLOPS.get(name.rpartition(" ")[2], tensor if tensor > 0 else mixed),
        multiprocessors=int(gpu["gpu_n_sms"]),
        compute_capability=float(gpu["gpu_compute_capability"]),
        link_generation=int(gpu["gpu_system_interface_gen"]),
        has_nvlink=gpu["gpu_is_nvlink"] == "True",
        parameters_b=float(model["model_n_parameters"]),
        layers=int(model["model_n_layers"]),
        heads=int(model["model_n_heads"]),
        vocabulary=int(model["model_vocabulary_size"]),
        is_encoder_decoder=model["model_is_encoder_decoder"] == "TRUE",
        has_flash_attention=model["model_is_flash_attention"] == "TRUE",
        checkpoint_bits=_BITS[model["model_torch_dtype"]],
    )


def _loads(raw: Mapping[str, Floats], cases: NDArray[np.int64]) -> Floats:
    """Columns of ``LOAD_FEATURES``, what was in flight rebuilt from the time stamps.

    Only requests that started strictly earlier count: nothing that a gateway would not know
    when the request arrives.
    """
    held = np.zeros((len(cases), 4))
    for rows_of_case in np.split(np.arange(len(cases)), np.flatnonzero(np.diff(cases)) + 1):
        held[rows_of_case] = _held({name: column[rows_of_case] for name, column in raw.items()})
    return np.column_stack((raw["num_users"], raw["n_input_tokens"], raw["n_output_tokens"], held))


def _held(case: Mapping[str, Floats]) -> Floats:
    """In flight, prefilling, prompt tokens of both, at the start of each request of a case."""
    start = case["start_timestamp"]
    first = start + case["delay0_ms"] + case["ttft_ms"]
    end = start + case["latency_ms"]
    columns = []
    for weight in (np.ones_like(start), case["n_input_tokens"]):
        begun = _sum_until(start, weight, start, "left")
        columns.append(begun - _sum_until(end, weight, start, "right"))
        columns.append(begun - _sum_until(first, weight, start, "right"))
    return np.column_stack(columns)


def _sum_until(times: Floats, weights: Floats, at: Floats, side: Side) -> Floats:
    order = np.argsort(times, kind="stable")
    total = np.concatenate(([0.0], np.cumsum(weights[order])))
    found: Floats = total[np.searchsorted(times[order], at, side)]
    return found


def _lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in _FILES:
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:16]

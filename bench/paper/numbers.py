"""What the paper states, and nothing else (H-MAS, tables 1, 2 and 4; section 4)."""

from __future__ import annotations

from typing import Final, NamedTuple


class Slice(NamedTuple):
    """One column pair of Table 1."""

    mismatch_mean: float
    mismatch_p95: float
    ttft_compliance: float
    goodput: float


class Ablation(NamedTuple):
    """One row of Table 2, as multiples of H-MAS."""

    esg: float
    ttft_p95: float
    tpot_p95: float
    goodput: float


class Robustness(NamedTuple):
    """One row of Table 4. ``drop`` and ``recovery`` are shares, not percent."""

    drop: float
    recovery: float
    cv_ttft: float
    esg_peak_over_mean: float
    cv_esg: float
    esg_mean: float


TABLE_1: Final = {
    "fast": (Slice(1.560, 3.588, 0.1924, 0.2557), Slice(1.203, 2.767, 0.8176, 0.6831)),
    "medium": (Slice(1.835, 2.110, 0.2896, 0.2896), Slice(1.415, 1.627, 0.8803, 0.7199)),
    "slow": (Slice(2.202, 5.606, 0.1125, 0.1125), Slice(1.798, 4.094, 0.6012, 0.4357)),
}
"""(vLLM, H-MAS) per slice."""

TABLE_2: Final = {
    "no-two-lane": Ablation(0.88, 2.92, 1.08, 0.91),
    "frozen-statera": Ablation(0.23, 6.57, 0.92, 0.63),
    "fcfs-meta": Ablation(0.78, 3.16, 1.07, 0.87),
    "rule-meta": Ablation(0.89, 2.73, 1.04, 0.89),
    "statistics-only": Ablation(0.28, 3.95, 0.88, 0.74),
}

TABLE_4: Final = {
    ("stress", "stock"): Robustness(1.000, 0.00, 1.849, 4.67, 1.304, 819.43),
    ("stress", "hmas"): Robustness(0.294, 0.89, 1.230, 3.73, 0.913, 1158.47),
    ("semantic", "stock"): Robustness(0.940, 0.07, 2.033, 3.05, 1.304, 878.61),
    ("semantic", "hmas"): Robustness(0.071, 0.93, 1.468, 2.26, 0.913, 1261.15),
}

FIGURE_5_ESG_AT_50_RPS: Final = 2.13
"""ESG of H-MAS over vLLM at 50 requests/s, the one number that the text gives for Figure 5."""

FIGURE_6_VLLM_GOODPUT: Final = 0.75
"""Where vLLM's goodput rate drops to over the longer replays of Figure 6 ("around")."""

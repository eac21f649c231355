"""The systems that are compared, each as the settings of one replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from hmas.bench.control import HMAS, STOCK, ControlKind, ControlSpec
from hmas.bench.lengths import LengthKnowledge
from hmas.bench.replay import ReplayConfig
from hmas.controllers.config import ControlConfig, StateraConfig
from hmas.engine.simulator.profile import Profile, load_profile
from hmas.engine.topologies import BASELINE, topology_names

BUDGETS: Final = (256, 512, 1024, 2048, 4096, 8192, 16384)
SGLANG_CHUNK_TOKENS: Final = 8192
"""SGLang's chunked prefill size on a GPU of 80 GB."""
NEVER_S: Final = 1e9


@dataclass(frozen=True, slots=True)
class System:
    """``note`` says in one line what it is; ``withheld`` and ``tagged`` as in a replay."""

    name: str
    title: str
    note: str
    control: ControlSpec = HMAS
    config: ControlConfig = field(default_factory=ControlConfig)
    lengths: LengthKnowledge = LengthKnowledge.PREDICTED
    withheld: frozenset[str] = frozenset()
    tagged: bool = True

    def replay_config(self, profile_name: str, series_s: float | None = None) -> ReplayConfig:
        return ReplayConfig(
            profile=self._profile(profile_name),
            control=self.control,
            control_config=self.config,
            series_s=series_s,
            withheld=self.withheld,
            tagged=self.tagged,
        )

    def _profile(self, name: str) -> Profile:
        """A static budget is the engine's own start-up limit, as an operator would set it."""
        profile = load_profile(name)
        if self.control.kind is not ControlKind.STATIC:
            return profile
        limits = profile.limits
        tokens = max(self.control.token_budget, limits.max_num_seqs)
        return msgspec.structs.replace(
            profile, limits=msgspec.structs.replace(limits, max_num_batched_tokens=tokens)
        )


STOCK_VLLM: Final = System(
    "stock", "stock vLLM", "FCFS with vLLM 0.32's own limits for this GPU class", STOCK
)
H_MAS: Final = System("hmas", "H-MAS", "the product's defaults; rules as meta-controller")
ORACLE: Final = System(
    "oracle",
    "H-MAS, true lengths",
    "H-MAS that is told the true output lengths",
    lengths=LengthKnowledge.TRUE,
)


def static(topology: str, budget: int) -> System:
    """vLLM with one fixed order and one fixed budget."""
    control = ControlSpec(ControlKind.STATIC, topology, budget)
    return System(str(control), f"{topology}, {budget} tokens", "fixed order and budget", control)


def statics(budgets: Sequence[int] = BUDGETS) -> list[System]:
    """Every pair of an order of the registry and a budget."""
    return [static(name, budget) for name in topology_names() for budget in budgets]


def sglang_like() -> list[System]:
    """Cache-unaware SGLang policies: a fixed order with SGLang's chunk size."""
    names = [name for name in (BASELINE, "hrrn") if name in topology_names()]
    return [
        System(
            f"sglang-{name}",
            f"SGLang-like {name.upper()}",
            f"{name} with chunks of {SGLANG_CHUNK_TOKENS} tokens mixed with decodes",
            ControlSpec(ControlKind.STATIC, name, SGLANG_CHUNK_TOKENS),
        )
        for name in names
    ]


def ablations() -> list[System]:
    """H-MAS with one part taken away (Table 2)."""
    return [
        System(
            "no-two-lane",
            "Disable Two-lane",
            "two_lane is withheld from the meta-controller",
            withheld=frozenset({"two_lane"}),
        ),
        System(
            "frozen-statera",
            "Freeze Statera",
            "no fence, no budget, no concurrency control: the engine's own limits",
            config=ControlConfig(statera=StateraConfig(enabled=False)),
        ),
        System(
            "fcfs-meta",
            "Disable Meta (FCFS)",
            "first come, first served all along; Statera works",
            config=ControlConfig(
                initial_topology=BASELINE,
                meta_s=NEVER_S,
                first_meta_s=NEVER_S,
                early_meta_s=NEVER_S,
            ),
        ),
        System(
            "rule-meta",
            "Rule-based Meta",
            "the same system here: no LLM runs in virtual time, so rules always decide",
        ),
        System(
            "statistics-only",
            "Rule-based Perception & Prediction",
            "no tags, no length prediction: recent statistics stand for every request",
            tagged=False,
        ),
    ]


def main_systems() -> list[System]:
    """Those that every workload is run on."""
    return [STOCK_VLLM, *sglang_like(), H_MAS]

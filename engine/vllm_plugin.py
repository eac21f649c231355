"""Entry point of the group ``vllm.general_plugins``: loaded in every vLLM process."""

from __future__ import annotations

import logging
import os
from typing import Any

logger = logging.getLogger(__name__)

PLUGIN_VARIABLE = "HMAS_VLLM_PLUGIN"


def register() -> None:
    """Select our scheduler where the operator asked for it by environment, else do nothing.

    For deployments that cannot change vLLM's command line. vLLM calls this once per process,
    and again in some; an explicit ``--scheduler-cls`` wins.
    """
    if os.environ.get(PLUGIN_VARIABLE) != "1":
        return
    from vllm.config.scheduler import SchedulerConfig

    select_scheduler(SchedulerConfig)


def select_scheduler(config_class: Any) -> None:
    """Make ``config_class.get_scheduler_cls`` answer with our factory by default."""
    stock = config_class.get_scheduler_cls
    if getattr(stock, "selects_hmas", False):
        return

    def get_scheduler_cls(config: Any) -> Any:
        if config.scheduler_cls is not None:
            return stock(config)
        from hmas.engine.vllm_scheduler import PolymorphicScheduler

        return PolymorphicScheduler

    get_scheduler_cls.selects_hmas = True  # type: ignore[attr-defined]
    config_class.get_scheduler_cls = get_scheduler_cls
    logger.info("hmas: the polymorphic scheduler is selected (%s=1)", PLUGIN_VARIABLE)

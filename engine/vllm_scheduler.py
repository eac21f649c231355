"""The vLLM scheduler plug-in.

``vllm serve MODEL --scheduler-cls hmas.engine.vllm_scheduler.PolymorphicScheduler``

No line of vLLM is copied or patched: the classes below call the stock scheduler and tell a
:class:`VllmHost` what happens. Without a directive the host only observes.
"""

from __future__ import annotations

import multiprocessing
import os
import uuid
from typing import Any

import vllm
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.request_queue import create_request_queue
from vllm.v1.core.sched.scheduler import Scheduler

from hmas.engine.clock import SystemClock
from hmas.engine.core import Identity
from hmas.engine.events import Event
from hmas.engine.link.config import LinkConfig
from hmas.engine.link.endpoint import ControlEndpoint
from hmas.engine.vllm_compat import check_version
from hmas.engine.vllm_host import VllmHost

LINK_VARIABLE = "HMAS_LINK"


class PolymorphicMixin(Scheduler):  # type: ignore[misc]
    """The stock scheduler, observed and governed by a host.

    ``_hmas`` is None on objects that were not made by ``__init__`` (vLLM's tests build some):
    those are plain vLLM.
    """

    _hmas: VllmHost | None = None
    _hmas_link: ControlEndpoint | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        config = LinkConfig.from_environment(os.environ, **_ranks(self.parallel_config))
        boot_id = uuid.uuid4().hex
        host = VllmHost(
            self,
            _identity(self.vllm_config, config.engine_id, boot_id),
            SystemClock(),
            make_queue=lambda: create_request_queue(self.policy),
            publish=self._hmas_publish,
        )
        if os.environ.get(LINK_VARIABLE, "on") != "off":
            self._hmas_link = ControlEndpoint(
                config, host.mailbox.deliver, tick=host.tick, boot_id=boot_id
            )
            self._hmas_link.start()
        self._hmas = host

    def _hmas_publish(self, event: Event) -> None:
        if self._hmas_link is not None:
            self._hmas_link.publish(event)

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        host = self._hmas
        if host is None:
            return super().schedule(*args, **kwargs)
        with host.lock:
            host.before_step()
            output = super().schedule(*args, **kwargs)
            host.after_step(output)
        return output

    def update_from_output(self, scheduler_output: Any, model_runner_output: Any) -> Any:
        host = self._hmas
        if host is None:
            return super().update_from_output(scheduler_output, model_runner_output)
        with host.lock:
            outputs = super().update_from_output(scheduler_output, model_runner_output)
            host.after_update(scheduler_output)
        return outputs

    def add_request(self, request: Any) -> None:
        host = self._hmas
        if host is None:
            super().add_request(request)
            return
        with host.lock:
            host.arrived(request)
            super().add_request(request)

    def finish_requests(self, *args: Any, **kwargs: Any) -> Any:
        host = self._hmas
        if host is None:
            return super().finish_requests(*args, **kwargs)
        with host.lock:
            return super().finish_requests(*args, **kwargs)

    def reset_prefix_cache(self, *args: Any, **kwargs: Any) -> Any:
        host = self._hmas
        if host is None:
            return super().reset_prefix_cache(*args, **kwargs)
        with host.lock:
            return super().reset_prefix_cache(*args, **kwargs)

    def _preempt_request(self, request: Any, *args: Any, **kwargs: Any) -> None:
        host = self._hmas
        if host is not None:
            host.preempting(request)
        super()._preempt_request(request, *args, **kwargs)
        if host is not None:
            host.preempted(request)

    def _free_request(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        host = self._hmas
        if host is not None:
            host.leaving(request)
        return super()._free_request(request, *args, **kwargs)

    def shutdown(self) -> None:
        if self._hmas_link is not None:
            self._hmas_link.close()
        super().shutdown()


class SyncPolymorphicScheduler(PolymorphicMixin):
    """For engines that process each step before the next one is scheduled (CPU)."""


class AsyncPolymorphicScheduler(PolymorphicMixin, AsyncScheduler):  # type: ignore[misc]
    """For asynchronous scheduling, vLLM's default on GPUs."""


def PolymorphicScheduler(vllm_config: Any, **kwargs: Any) -> PolymorphicMixin:  # noqa: N802
    """The ``--scheduler-cls``: picks the class that fits vLLM's mode.

    Raises:
        UnsupportedVllmError: the installed vLLM is not on the tested list.
        LinkConfigError: a setting of the control link is wrong.
    """
    check_version(vllm.__version__, os.environ)
    asynchronous = vllm_config.scheduler_config.async_scheduling
    scheduler = AsyncPolymorphicScheduler if asynchronous else SyncPolymorphicScheduler
    return scheduler(vllm_config=vllm_config, **kwargs)


def _ranks(parallel_config: Any) -> dict[str, int]:
    """Data-parallel rank and number of ranks.

    For dense models vLLM sets the size back to 1 in each rank; the process name still tells.
    """
    rank = int(parallel_config.data_parallel_index)
    size = max(int(parallel_config.data_parallel_size), rank + 1)
    if multiprocessing.current_process().name.startswith("EngineCore_DP"):
        size = max(size, 2)
    return {"rank": rank, "size": size}


def _identity(vllm_config: Any, engine_id: str, boot_id: str) -> Identity:
    served = vllm_config.model_config.served_model_name or vllm_config.model_config.model
    return Identity(
        engine_id=engine_id,
        boot_id=boot_id,
        kind="vllm",
        kind_version=vllm.__version__,
        model=served if isinstance(served, str) else served[0],
        rank=int(vllm_config.parallel_config.data_parallel_index),
    )

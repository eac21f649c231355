from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

from hmas.engine.vllm_plugin import PLUGIN_VARIABLE, register, select_scheduler


class StockConfig:
    """The part of vLLM's SchedulerConfig that the plug-in replaces."""

    def __init__(self, scheduler_cls: str | None = None) -> None:
        self.scheduler_cls = scheduler_cls

    def get_scheduler_cls(self) -> Any:
        return self.scheduler_cls or "stock"


@pytest.mark.parametrize("value", [None, "", "0", "true"])
def test_an_installed_hmas_changes_nothing_unless_asked(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PLUGIN_VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(PLUGIN_VARIABLE, value)
    register()


def test_an_explicit_scheduler_wins_and_registering_twice_is_harmless() -> None:
    class Config(StockConfig):
        pass

    select_scheduler(Config)
    once = Config.get_scheduler_cls
    select_scheduler(Config)
    assert Config.get_scheduler_cls is once
    assert Config("mine").get_scheduler_cls() == "mine"


@pytest.mark.skipif(find_spec("vllm") is not None, reason="needs an environment without vLLM")
def test_configurations_without_a_choice_get_ours() -> None:
    config_class = SimpleNamespace(get_scheduler_cls=lambda config: "stock")
    select_scheduler(config_class)
    with pytest.raises(ModuleNotFoundError, match="vllm"):
        config_class.get_scheduler_cls(StockConfig())

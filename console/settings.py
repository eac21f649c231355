"""Where the console finds the admin API; set by ``console.run`` for the page processes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

ENV_PREFIX = "HMAS_CONSOLE_"


class ConsoleSettings(BaseSettings):
    """Read from ``HMAS_CONSOLE_*``; times in seconds."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, frozen=True, extra="ignore")

    admin_url: Annotated[str, Field(pattern=r"^https?://")] = "http://127.0.0.1:8002"
    refresh_s: Annotated[float, Field(ge=0.5, le=60)] = 2.0
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 4.0

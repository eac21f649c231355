"""One stack and one browser for all tests of the console."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.system.console.browser import CHROMIUM, DRIVER, Console, open_browser
from tests.system.console.stack import TOKEN, Load, Stack


@pytest.fixture(scope="package")
def stack() -> Iterator[Stack]:
    if not (CHROMIUM.exists() and DRIVER.exists()):
        reason = "needs Debian's chromium and chromium-driver (make system-deps)"
        if os.environ.get("CI") == "true":
            pytest.fail(f"CI must test the console: {reason}")
        pytest.skip(reason)
    running = Stack()
    try:
        running.start()
        yield running
    finally:
        running.close()


@pytest.fixture(scope="package")
def load(stack: Stack) -> Iterator[None]:
    """Traffic during all tests: the pages have something to show."""
    with Load(stack.engine_url, requests_per_s=9):
        yield


@pytest.fixture
def visitor(stack: Stack, load: None, tmp_path: Path) -> Iterator[Console]:
    """The console before the login."""
    browser = open_browser(tmp_path / "profile")
    try:
        console = Console(browser, stack.console_url)
        console.open()
        yield console
    finally:
        browser.quit()


@pytest.fixture
def console(visitor: Console) -> Console:
    """Logged in."""
    visitor.log_in(TOKEN)
    visitor.shows("engine answers")
    return visitor

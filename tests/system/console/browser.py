"""Headless Chromium, and the console's pages as an operator uses them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    NoSuchElementException,
    StaleElementReferenceException,
)
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

T = TypeVar("T")

CHROMIUM = Path("/usr/bin/chromium")
DRIVER = Path("/usr/bin/chromedriver")
SCREENSHOTS = Path(__file__).parents[3] / "out" / "screenshots"
WIDTH, HEIGHT = 1400, 900
TIMEOUT_S = 60
PASSING = (
    ElementClickInterceptedException,
    ElementNotInteractableException,
    NoSuchElementException,
    StaleElementReferenceException,
)
"""What a page that is being redrawn answers; looked at again until the time-out."""

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-prefers-reduced-motion",
    f"--window-size={WIDTH},{HEIGHT}",
)


def open_browser(profile: Path) -> webdriver.Chrome:
    """A browser with an empty profile, whose page is exactly 1400 x 900."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Europe/Berlin"})
    return browser


class Console:
    """The pages; every step waits until the page is ready for it."""

    def __init__(self, browser: webdriver.Chrome, url: str) -> None:
        self._browser = browser
        self._url = url

    def open(self) -> None:
        self._browser.get(self._url)
        self.find(".st-key-token input")

    def log_in(self, token: str) -> None:
        field = self.find(".st-key-token input")
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(token, Keys.ENTER)

    def until(self, what: str, look: Callable[[], T]) -> T:
        """``look``'s first true answer."""
        waiting = WebDriverWait(self._browser, TIMEOUT_S, 0.1, PASSING)
        return waiting.until(lambda _browser: look(), what)

    def find(self, css: str) -> WebElement:
        return self.until(css, lambda: self._browser.find_element(By.CSS_SELECTOR, css))

    def text(self) -> str:
        return self._browser.find_element(By.TAG_NAME, "body").text

    def shows(self, text: str) -> None:
        self.until(f"the page shows {text!r}", lambda: text in self.text())

    def shows_no_more(self, text: str) -> None:
        self.until(f"the page shows {text!r} no more", lambda: text not in self.text())

    def press(self, css: str, label: str = "") -> None:
        """Click the element, or the one of them that is labelled so."""

        def click() -> bool:
            found = self._browser.find_elements(By.CSS_SELECTOR, css)
            named = [element for element in found if label in element.text]
            if not named or not named[0].is_enabled():
                return False
            named[0].click()
            return True

        self.until(f"press {css} {label}", click)

    def go(self, page: str) -> None:
        self.press("[data-testid='stHeader'] a", page)

    def choose(self, key: str, option: str) -> None:
        """One option of a select box."""
        self.press(f".st-key-{key} [role='combobox']")
        self.press("[role='option']", option)

    def write(self, key: str, text: str) -> None:
        """Fill a text field, and let the page know."""
        self.find(f".st-key-{key} input").send_keys(text, Keys.TAB)

    def drawn(self, points: int, span_s: float) -> None:
        """Every chart shows the last ``span_s`` seconds, with that many measured points."""
        script = (
            "return [...document.querySelectorAll('.js-plotly-plot')].map(plot => ["
            " plot.data[0].y.filter(value => value !== null).length,"
            " plot.layout.xaxis.range.map(text => Date.parse(text) / 1000)])"
        )

        def look() -> bool:
            charts: list[tuple[int, list[float]]] = self._browser.execute_script(script)
            ready = [
                measured >= points and abs(end_s - start_s - span_s) < 1
                for measured, (start_s, end_s) in charts
            ]
            return len(ready) == 6 and all(ready)

        self.until(f"six charts of {span_s:.0f} s with {points} points", look)

    def screenshot(self, name: str) -> Path:
        """What an operator sees once the notes in the corner are gone."""
        self.until(
            "no notes",
            lambda: not self._browser.find_elements(By.CSS_SELECTOR, "[data-testid='stToast']"),
        )
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        self._browser.save_screenshot(str(path))
        return path

    def foreign_requests(self) -> list[str]:
        """Everything the page loaded that did not come from the console itself."""
        script = "return performance.getEntriesByType('resource').map(entry => entry.name)"
        names: list[str] = self._browser.execute_script(script)
        return [name for name in names if not name.startswith((self._url, "data:", "blob:"))]

    def errors(self) -> list[str]:
        """What the browser complained about."""
        log = self._browser.get_log("browser")
        return [entry["message"] for entry in log if entry["level"] == "SEVERE"]

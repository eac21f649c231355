"""Log lines for people and for collectors."""

from __future__ import annotations

import json
import logging
import sys

from hmas.daemon.cli.log import JsonFormatter


def record(message: str, *, failed: bool = False) -> logging.LogRecord:
    error = None
    if failed:
        try:
            raise ValueError("no such engine")
        except ValueError:
            error = sys.exc_info()
    return logging.LogRecord("hmas.x", logging.INFO, "x.py", 1, message, (), error)


def test_a_line_is_one_object() -> None:
    line = json.loads(JsonFormatter().format(record('engine0 "hold"\nedf')))
    assert line["message"] == 'engine0 "hold"\nedf'
    assert (line["level"], line["logger"]) == ("info", "hmas.x")
    assert line["at"].endswith("Z")
    assert "error" not in line


def test_an_error_is_part_of_its_line() -> None:
    line = JsonFormatter().format(record("failed", failed=True))
    assert "\n" not in line
    assert "no such engine" in json.loads(line)["error"]

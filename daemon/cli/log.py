"""Log lines of every program: text for people, JSON for collectors."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from time import gmtime

from hmas.daemon.settings import LogSettings

TEXT = "%(asctime)s.%(msecs)03d %(levelname)-7s %(name)s: %(message)s"
TIME = "%Y-%m-%dT%H:%M:%S"


class JsonFormatter(logging.Formatter):
    """One object per line."""

    converter = staticmethod(gmtime)

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": f"{self.formatTime(record, TIME)}.{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = "".join(traceback.format_exception(record.exc_info[1]))
        return json.dumps(line)


def configure_logging(settings: LogSettings) -> None:
    """All loggers to standard error; libraries only from warnings on."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter(TEXT, TIME)
    handler.setFormatter(JsonFormatter() if settings.format == "json" else text)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("hmas").setLevel(settings.level.upper())

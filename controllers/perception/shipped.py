"""The task model that comes with the package, or the operator's own file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from hmas.controllers.perception.learned import SHIPPED, ModelFileError, TaskModel, load

OFF: Final = "off"
SHIPPED_NAME: Final = "shipped"

logger = logging.getLogger(__name__)


def task_classifier(choice: str) -> TaskModel | None:
    """``off``, ``shipped`` or a path; without a usable file one warning, and the rules alone."""
    if choice == OFF:
        return None
    try:
        return load(SHIPPED if choice == SHIPPED_NAME else Path(choice))
    except ModelFileError as error:
        logger.warning("%s: not used, the rules classify alone", error)
        return None

"""The task model that comes with the package, or the operator's own file."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from hmas.controllers.compiled import CAN_COMPILE, WHY_NOT
from hmas.controllers.perception.learned import SHIPPED, ModelFileError, TaskModel, load

OFF: Final = "off"
SHIPPED_NAME: Final = "shipped"

logger = logging.getLogger(__name__)


def task_classifier(choice: str) -> TaskModel | None:
    """``off``, ``shipped`` or a path; where it cannot be used one warning, and the rules alone."""
    if choice == OFF:
        return None
    if not CAN_COMPILE:
        logger.warning("task model %s is not used, the rules classify alone: %s", choice, WHY_NOT)
        return None
    try:
        return load(SHIPPED if choice == SHIPPED_NAME else Path(choice))
    except ModelFileError as error:
        logger.warning("%s: not used, the rules classify alone", error)
        return None

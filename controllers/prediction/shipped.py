"""The models that come with the package, or the operator's own files."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from hmas.controllers.compiled import CAN_COMPILE, WHY_NOT
from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.cost_model import SHIPPED as COST_SHIPPED
from hmas.controllers.prediction.cost_model import CostModel, read_cost_model
from hmas.controllers.prediction.history import HistoryPredictor
from hmas.controllers.prediction.length import LengthPredictor
from hmas.controllers.prediction.length_features import read_features
from hmas.controllers.prediction.length_model import LengthModel, decode_model
from hmas.controllers.prediction.length_sessions import UNKNOWN
from hmas.controllers.prediction.sealed import CorruptModelError, read_sealed
from hmas.engine.features import TaskType

SHIPPED: Final = Path(__file__).parent / "models" / "length.model"
OFF: Final = "off"
SHIPPED_NAME: Final = "shipped"

logger = logging.getLogger(__name__)


def read_model(path: Path | None = None) -> LengthModel:
    """The model in a file, by default the shipped one.

    Raises:
        OSError: it cannot be read.
        CorruptModelError: damaged, too large, or of another format.
    """
    return decode_model(read_sealed(path or SHIPPED))


def chosen_file(choice: str) -> Path:
    """``shipped`` or a path."""
    return SHIPPED if choice == SHIPPED_NAME else Path(choice)


def length_predictor(choice: str, challenger: str = OFF) -> LengthPredictor | HistoryPredictor:
    """``off``, ``shipped`` or a path; where it cannot be used the history predicts alone.

    ``challenger`` likewise: without a usable file there is no duel.
    """
    if choice == OFF:
        return HistoryPredictor()
    if not CAN_COMPILE:
        logger.warning("length model %s is not used, history predicts: %s", choice, WHY_NOT)
        return HistoryPredictor()
    path = chosen_file(choice)
    try:
        model = read_model(path)
    except (OSError, CorruptModelError) as error:
        logger.warning("length model %s is not used, history predicts instead: %s", path, error)
        return HistoryPredictor()
    return LengthPredictor(model, challenger=read_challenger(challenger))


def read_challenger(choice: str) -> LengthModel | None:
    """A file that cannot be used is one warning and None."""
    if choice == OFF:
        return None
    path = chosen_file(choice)
    try:
        model = read_model(path)
    except (OSError, CorruptModelError) as error:
        logger.warning("length challenger %s is not used, there is no duel: %s", path, error)
        return None
    # What the first call loads is loaded before the first request.
    model.guess(read_features(_ANY), list(UNKNOWN))
    return model


_ANY: Final = Question(tenant="", task_type=TaskType.UNKNOWN, prompt_tokens=1)


def cost_model(choice: str) -> CostModel | None:
    """``shipped`` or a path; where it cannot be used one warning, and no trained costs."""
    if not CAN_COMPILE:
        logger.warning(
            "cost model %s is not used, step models and history predict: %s", choice, WHY_NOT
        )
        return None
    path = COST_SHIPPED if choice == SHIPPED_NAME else Path(choice)
    try:
        return read_cost_model(path)
    except (OSError, CorruptModelError) as error:
        logger.warning(
            "cost model %s is not used, step models and history predict: %s", path, error
        )
        return None

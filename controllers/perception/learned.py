"""The learned classifier: a linear model over hashed text, a tenth of a millisecond a prompt.

A model file holds no code: a line that names the format, a JSON card, and compressed arrays.
"""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from hmas.controllers.perception.chain import Guess
from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.text_features import ROWS, read
from hmas.controllers.perception.text_kernel import IS_WORD, Floats, probabilities
from hmas.engine.features import TaskType

MAGIC: Final = b"hmas task model 1\n"
SHIPPED: Final = Path(__file__).parent / "models" / "task.hmas"
MAX_CARD_BYTES: Final = 65536


class ModelFileError(Exception):
    """The model file is absent, damaged, or of another version; says which file and why."""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What a model file says of itself.

    Attributes:
        version: of the training code's features and sources.
        tasks: task types, in the order of the weights' columns.
        temperature: logits are divided by it, so that probabilities are calibrated.
        min_probability: a less probable guess is better served as unknown.
        sha256: of the uncompressed arrays.
        data_hash: of the labelled prompts that the model was trained on.
        trained_on: samples by source.
        metrics: of the held-out set.
    """

    version: str
    tasks: tuple[TaskType, ...]
    rows: int
    temperature: float
    min_probability: float
    sha256: str
    licence: str = "Apache-2.0"
    data_hash: str = ""
    seed: int = 0
    trained_on: dict[str, int] = {}
    metrics: dict[str, float] = {}


class Weights(msgspec.Struct, frozen=True):
    """One column per task: int8 rows times the column's scale, and the bias."""

    rows: npt.NDArray[np.int8]
    scale: Floats
    bias: Floats


class TaskModel:
    """Implements :class:`hmas.controllers.perception.chain.Classifier`."""

    def __init__(self, card: Card, weights: Weights) -> None:
        self.card = card
        temperature = np.float32(card.temperature)
        self._table = np.ascontiguousarray(weights.rows)
        self._scale: Floats = weights.scale / temperature
        self._bias: Floats = weights.bias / temperature

    def classify(self, prompt: Prompt, budget_s: float = 0.002) -> Guess | None:
        """The most probable task; None where there is no text to read."""
        if not prompt.text:
            return None
        probabilities = self.probabilities(prompt)
        best = int(probabilities.argmax())
        probability = float(probabilities[best])
        if probability < self.card.min_probability:
            return Guess(TaskType.UNKNOWN, probability)
        return Guess(self.card.tasks[best], probability)

    def probabilities(self, prompt: Prompt) -> Floats:
        """Calibrated probability of each of ``card.tasks``."""
        return probabilities(*read(prompt), IS_WORD, self._table, self._scale, self._bias)


def pack(card: Card, weights: Weights) -> bytes:
    """The file's bytes; the card's checksum is set here."""
    arrays = _arrays(weights)
    sealed = msgspec.structs.replace(card, sha256=hashlib.sha256(arrays).hexdigest())
    return _sealed(sealed, zlib.compress(arrays, 9))


def with_metrics(content: bytes, metrics: dict[str, float], licence: str | None = None) -> bytes:
    """The same model with ``metrics`` on its card, and another licence where one is given."""
    begin = len(MAGIC) + 4
    size = int.from_bytes(content[len(MAGIC) : begin], "little")
    known = unpack(content).card
    card = msgspec.structs.replace(known, metrics=metrics, licence=licence or known.licence)
    return _sealed(card, content[begin + size :])


def _sealed(card: Card, packed: bytes) -> bytes:
    head = msgspec.json.encode(card)
    return MAGIC + len(head).to_bytes(4, "little") + head + packed


def load(path: Path = SHIPPED) -> TaskModel:
    """Raises :class:`ModelFileError` naming the file."""
    try:
        return unpack(path.read_bytes())
    except OSError as error:
        raise ModelFileError(f"task model {path}: {error.strerror or error}") from error
    except ModelFileError as error:
        raise ModelFileError(f"task model {path}: {error}") from error


def unpack(content: bytes) -> TaskModel:
    """A model from its file's bytes. Raises :class:`ModelFileError`."""
    if not content.startswith(MAGIC):
        raise ModelFileError("not a task model of this version")
    begin = len(MAGIC) + 4
    size = int.from_bytes(content[len(MAGIC) : begin], "little")
    if size > MAX_CARD_BYTES:
        raise ModelFileError("damaged (card)")
    try:
        card = msgspec.json.decode(content[begin : begin + size], type=Card)
        arrays = _decompressed(content[begin + size :], _bytes_of(card))
    except (msgspec.MsgspecError, zlib.error, UnicodeDecodeError) as error:
        raise ModelFileError(f"damaged ({error})") from error
    if hashlib.sha256(arrays).hexdigest() != card.sha256:
        raise ModelFileError("damaged (checksum)")
    return TaskModel(card, _weights(card, arrays))


def _bytes_of(card: Card) -> int:
    if card.rows != ROWS or not card.tasks:
        raise ModelFileError("made for other features: train it again")
    return len(card.tasks) * (card.rows + 8)


def _decompressed(packed: bytes, expected: int) -> bytes:
    """At most one byte more than expected: a small file cannot fill the memory."""
    arrays = zlib.decompressobj().decompress(packed, expected + 1)
    if len(arrays) != expected:
        raise ModelFileError("damaged (length)")
    return arrays


def _arrays(weights: Weights) -> bytes:
    floats = (weights.scale.astype("<f4").tobytes(), weights.bias.astype("<f4").tobytes())
    return b"".join((*floats, weights.rows.tobytes()))


def _weights(card: Card, arrays: bytes) -> Weights:
    count = len(card.tasks)
    floats = np.frombuffer(arrays, dtype="<f4", count=2 * count).astype(np.float32)
    rows = np.frombuffer(arrays, dtype=np.int8, offset=8 * count).reshape(card.rows, count)
    return Weights(rows, floats[:count], floats[count:])

"""Training of the learned classifier: the very features of inference, a multinomial fit.

Needs scikit-learn (extra ``train``); nothing that serves imports this module.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from hmas.controllers.perception.incoming import Prompt
from hmas.controllers.perception.learned import Card, Weights, pack
from hmas.controllers.perception.text_features import ROWS, prompt_rows
from hmas.engine.features import TaskType

TASKS: Final = tuple(task for task in TaskType if task is not TaskType.UNKNOWN)
VERSION: Final = "1"
REGULARISATION: Final = 12.0
"""Inverse strength (scikit-learn's C) of the squared penalty."""
MAX_ITERATIONS: Final = 150
VALIDATION_SHARE: Final = 0.1
TEMPERATURES: Final = tuple(float(t) for t in np.round(np.geomspace(0.3, 4.0, 60), 4))
WORTH_TAKING: Final = 0.3
"""A guess is taken while guesses of its probability are right at least this often."""
NEVER: Final = -30.0
"""The logit of a task without samples."""
MIN_THRESHOLD: Final = 0.15
MAX_THRESHOLD: Final = 0.6

Floats = npt.NDArray[np.float32]


class Sample(NamedTuple):
    """A labelled prompt.

    Attributes:
        source: where it came from.
        group: its template; prompts of one template are never on both sides of a split.
    """

    source: str
    prompt: Prompt
    task_type: TaskType
    group: str = ""


class Fit(NamedTuple):
    """Dense weights of one fit, [ROWS, tasks]."""

    weights: Floats
    bias: Floats


def train(samples: Sequence[Sample], seed: int, tasks: Sequence[TaskType] = TASKS) -> bytes:
    """The bytes of a model file that knows ``tasks``; the same arguments give the same bytes.

    A tenth of the samples calibrates the temperature and the threshold of a fit on the rest;
    the weights shipped are those of a fit on all of them.

    Raises:
        ValueError: a task type without samples.
    """
    missing = set(tasks) - {sample.task_type for sample in samples}
    if missing:
        raise ValueError(f"no samples of {', '.join(sorted(missing))}")
    order = np.random.default_rng(seed).permutation(len(samples))
    held = {int(number) for number in order[: int(len(samples) * VALIDATION_SHARE)]}
    rest = [sample for number, sample in enumerate(samples) if number not in held]
    validation = [sample for number, sample in enumerate(samples) if number in held]
    temperature, threshold = calibrate(fit(rest, tasks), validation, tasks)
    card = Card(
        version=VERSION,
        tasks=tuple(tasks),
        rows=ROWS,
        temperature=temperature,
        min_probability=threshold,
        sha256="",
        data_hash=data_hash(samples),
        seed=seed,
        trained_on=dict(sorted(Counter(sample.source for sample in samples).items())),
    )
    return pack(card, quantized(fit(samples, tasks)))


def data_hash(samples: Sequence[Sample]) -> str:
    """SHA-256 over labels and prompts, in order."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(f"{sample.source}\0{sample.task_type}\0".encode())
        digest.update(msgspec.msgpack.encode(sample.prompt))
    return digest.hexdigest()[:16]


def fit(samples: Sequence[Sample], tasks: Sequence[TaskType] = TASKS) -> Fit:
    """Multinomial logistic regression, each task and each source heard alike.

    A task that happens to have no sample is never named.
    """
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=REGULARISATION, max_iter=MAX_ITERATIONS, tol=1e-3)
    labels = np.array([tasks.index(sample.task_type) for sample in samples])
    model.fit(_matrix(samples), labels, sample_weight=_balance(samples))
    found, intercept = np.asarray(model.coef_), np.asarray(model.intercept_)
    if len(model.classes_) == 2:
        found, intercept = np.vstack((-found, found)) / 2, np.hstack((-intercept, intercept)) / 2
    weights = np.zeros((ROWS, len(tasks)), dtype=np.float32)
    bias = np.full(len(tasks), NEVER, dtype=np.float32)
    weights[:, model.classes_], bias[model.classes_] = found.T, intercept
    return Fit(weights, bias)


def _matrix(samples: Sequence[Sample]) -> object:
    """A sparse [samples, ROWS] matrix."""
    from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

    found = [prompt_rows(sample.prompt) for sample in samples]
    ends = np.cumsum([0, *(len(rows.row) for rows in found)])
    values = np.concatenate([rows.value for rows in found])
    index = np.concatenate([rows.row for rows in found])
    matrix = csr_matrix((values, index, ends), shape=(len(samples), ROWS))
    matrix.sum_duplicates()
    return matrix


def _balance(samples: Sequence[Sample]) -> npt.NDArray[np.float64]:
    """Weights between 'each sample alike' and 'each task and source alike', mean 1."""
    tasks = Counter(sample.task_type for sample in samples)
    parts = Counter((sample.source, sample.task_type) for sample in samples)
    weights = np.array(
        [
            (tasks[sample.task_type] * parts[sample.source, sample.task_type]) ** -0.25
            for sample in samples
        ]
    )
    return np.asarray(weights / weights.mean())


def quantized(found: Fit) -> Weights:
    """Eight bits a weight, one scale a task."""
    scale = np.maximum(np.abs(found.weights).max(axis=0), 1e-9) / 127
    rows = np.rint(found.weights / scale).astype(np.int8)
    return Weights(rows, scale.astype(np.float32), found.bias)


def calibrate(
    found: Fit, validation: Sequence[Sample], tasks: Sequence[TaskType] = TASKS
) -> tuple[float, float]:
    """Temperature of least log loss, and the threshold below which a guess is unknown."""
    logits = np.array([_logits(found, sample.prompt) for sample in validation])
    labels = np.array([tasks.index(sample.task_type) for sample in validation])
    every = np.arange(len(labels))
    losses = [
        -float(np.log(_softmax(logits / t)[every, labels] + 1e-12).mean()) for t in TEMPERATURES
    ]
    temperature = TEMPERATURES[int(np.argmin(losses))]
    probabilities = _softmax(logits / temperature)
    right = probabilities.argmax(axis=1) == labels
    return temperature, _threshold(probabilities.max(axis=1), right)


def _threshold(confidence: npt.NDArray[np.float64], right: npt.NDArray[np.bool_]) -> float:
    """The lowest probability at which guesses of about it are worth taking."""
    for low in np.arange(MIN_THRESHOLD, MAX_THRESHOLD, 0.05):
        near = (confidence >= low) & (confidence < low + 0.1)
        if near.sum() >= 5 and right[near].mean() >= WORTH_TAKING:
            return round(float(low), 2)
    return MIN_THRESHOLD


def _logits(found: Fit, prompt: Prompt) -> Floats:
    rows = prompt_rows(prompt)
    logits: Floats = rows.value @ found.weights[rows.row] + found.bias
    return logits


def _softmax(logits: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))

"""One training run of each kind: model files, and a report that says what they are."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec

from hmas.controllers.prediction.length_features import LengthFeatures
from hmas.storage.records import TrainingRecord
from hmas.storage.store import MAX_LIMIT, Cursor, TrainingReader

DATA: Final = Path(__file__).resolve().parents[2].parent / "shared" / "data"
OWN_TRAFFIC: Final = "own traffic"
HELD_OUT_EVERY: Final = 10
"""Of the own traffic, one session in ten is only tested on."""

Say = Callable[[str], None]


class Kind(StrEnum):
    """What can be trained."""

    PERCEPTION = "perception"
    LENGTH = "length"
    COST = "cost"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside the files of one run; sizes in bytes."""

    kind: str
    version: str
    seed: int
    data: str
    data_hash: str
    licence: str
    files: dict[str, str]
    bytes: int
    metrics: dict[str, Any]


class Trained(msgspec.Struct, frozen=True):
    """Model files by name, and their report."""

    files: dict[str, bytes]
    report: Report


def train(kind: Kind, data: Path, seed: int, say: Say) -> Trained:
    """Train on a folder of public sets; the same data and seed give the same files.

    Raises:
        FileNotFoundError: a set is not there.
        ImportError: the extra ``train`` is not installed.
    """
    runs: dict[Kind, Callable[[Path, int, Say], Trained]] = {
        Kind.PERCEPTION: _perception,
        Kind.LENGTH: _length,
        Kind.COST: _cost,
    }
    return runs[kind](data, seed, say)


def _perception(data: Path, seed: int, say: Say) -> Trained:
    from hmas.bench.perception.train import train_task_model
    from hmas.controllers.perception.learned import unpack

    say("task types: reading the labelled sets, fitting, measuring on held-out prompts")
    content, metrics = train_task_model(data, seed)
    card = unpack(content).card
    said = (card.version, card.data_hash, card.licence)
    return _trained(
        Kind.PERCEPTION,
        {"task.hmas": content},
        seed=seed,
        data=str(data),
        said=said,
        metrics=metrics,
    )


def tasks_from_labels(files: Sequence[Path], data: Path | None, seed: int, say: Say) -> Trained:
    """Train the classifier on an operator's labelled files; with ``data`` on public sets, too.

    Raises:
        LabelledFileError: lines are wrong.
        ValueError: there are too few of them.
        OSError: a file cannot be read, or a public set is not there.
        ImportError: the extra ``train`` is not installed.
    """
    from hmas.controllers.perception.learned import unpack
    from hmas.daemon.training.labelled import read_labelled
    from hmas.daemon.training.own_tasks import train_on_own

    say("task types: reading the labelled files")
    content, page, metrics = train_on_own(read_labelled(files), data, seed, say)
    card = unpack(content).card
    names = [*map(str, files), *([] if data is None else [str(data)])]
    return _trained(
        Kind.PERCEPTION,
        {"task.hmas": content, "task.md": page.encode()},
        seed=seed,
        data=", ".join(names),
        said=(card.version, card.data_hash, card.licence),
        metrics=metrics,
    )


def _length(data: Path, seed: int, say: Say) -> Trained:
    from hmas.bench.corpus_lengths.training import train_length_model
    from hmas.controllers.prediction.length_model import decode_model

    say("lengths: reading the sets, fitting words, tool calls and quantiles")
    content, metrics = train_length_model(data, seed)
    record = decode_model(content).record
    said = (record.version, record.data_hash, record.licence)
    return _trained(
        Kind.LENGTH,
        {"length.model": content},
        seed=seed,
        data=str(data),
        said=said,
        metrics=metrics,
    )


def _cost(data: Path, seed: int, say: Say) -> Trained:
    from hmas.controllers.prediction.cost_model import decode_cost_model
    from hmas.controllers.prediction.cost_training import FILE, train_cost_models

    files, metrics = train_cost_models(data, seed, say)
    record = decode_cost_model(files[FILE]).record
    said = (record.version, record.data_hash, record.licence)
    return _trained(Kind.COST, files, seed=seed, data=str(data), said=said, metrics=metrics)


def lengths_from_store(store: TrainingReader, seed: int, say: Say) -> Trained:
    """Train the length model on finished requests of tenants that agreed.

    Raises:
        ValueError: there is nothing, or less than the fit needs.
        ImportError: the extra ``train`` is not installed.
    """
    from hmas.controllers.prediction.length_model import decode_model
    from hmas.controllers.prediction.length_training import fit_length_model

    records = every_record(store)
    if not records:
        raise ValueError("nothing to learn from: no tenant's tier or key says `learn: true`")
    say(f"lengths: {len(records)} requests of tenants that agreed")
    examples = [_example(record) for record in reversed(records)]
    licence = "the operator's own traffic: not for others"
    content, metrics = fit_length_model(examples, seed, licence=licence)
    record = decode_model(content).record
    said = (record.version, record.data_hash, licence)
    return _trained(
        Kind.LENGTH,
        {"length.model": content},
        seed=seed,
        data=OWN_TRAFFIC,
        said=said,
        metrics=metrics,
    )


def every_record(store: TrainingReader) -> list[TrainingRecord]:
    """Newest first."""
    found: list[TrainingRecord] = []
    while True:
        before = Cursor.of(found[-1]) if found else None
        page = store.training(before=before, limit=MAX_LIMIT)
        found += page
        if len(page) < MAX_LIMIT:
            return found


def _example(record: TrainingRecord) -> Any:
    from hmas.controllers.prediction.base import Question
    from hmas.controllers.prediction.length_training import Example
    from hmas.engine.features import TaskType

    session = str(record.payload.get("session") or "")
    part = hashlib.sha256((session or record.id).encode()).digest()[0]
    return Example(
        source=OWN_TRAFFIC,
        question=Question(
            tenant=record.tenant,
            task_type=TaskType(record.task_type),
            prompt_tokens=record.prompt_tokens,
            model=record.model,
            session=session or None,
        ),
        output_tokens=record.output_tokens,
        held_out=part % HELD_OUT_EVERY == 0,
        features=_features(record),
    )


def _features(record: TrainingRecord) -> LengthFeatures:
    import numpy as np

    payload = record.payload
    words = np.array(payload["words"], dtype=np.int64)
    return LengthFeatures([float(n) for n in payload["numbers"]], words, int(payload["opening"]))


def _trained(
    kind: Kind,
    files: dict[str, bytes],
    *,
    seed: int,
    data: str,
    said: Sequence[str],
    metrics: dict[str, Any],
) -> Trained:
    version, data_hash, licence = said
    report = Report(
        kind=kind.value,
        version=version,
        seed=seed,
        data=data,
        data_hash=data_hash,
        licence=licence,
        files={name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        bytes=sum(map(len, files.values())),
        metrics=metrics,
    )
    return Trained(files, report)


def named(trained: Trained, stem: str) -> Trained:
    """The same with ``stem`` for the names of its files, endings kept."""
    names = {name: stem + Path(name).suffix for name in trained.files}
    hashes = {names[name]: digest for name, digest in trained.report.files.items()}
    files = {names[name]: content for name, content in trained.files.items()}
    return Trained(files, msgspec.structs.replace(trained.report, files=hashes))


def write(trained: Trained, folder: Path) -> list[Path]:
    """The files and ``<kind>.report.json``; each is there whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    report = msgspec.json.format(msgspec.json.encode(trained.report), indent=2)
    contents = {**trained.files, f"{trained.report.kind}.report.json": report}
    written = []
    for name, content in contents.items():
        beside = folder / f".{name}.part"
        beside.write_bytes(content)
        written.append(beside.replace(folder / name))
    return written

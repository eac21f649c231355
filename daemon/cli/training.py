"""What ``hmas train`` does: runs with a bar, refusals in words, results for people or programs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from hmas.daemon.cli.context import out, print_json, settings_from
from hmas.daemon.cli.exits import Exit, errors, fail
from hmas.daemon.control.completion import CompletionClient, CompletionError
from hmas.daemon.control.settings import LlmSettings
from hmas.daemon.training import labelling, runs
from hmas.daemon.training.labelled import LabelledFileError
from hmas.storage.connect import open_store
from hmas.storage.errors import StorageError

named = runs.named


def label(llm: str, model: str, source: Path, target: Path, *, json: bool) -> None:
    """Labels what ``target`` does not hold yet."""
    try:
        settings = LlmSettings.model_validate({"base_url": llm, "model": model, "timeout_s": 60})
        labelled, refused = asyncio.run(_label_all(settings, source, target, json=json))
    except (OSError, ValueError) as error:
        fail(str(error), Exit.USAGE)
    except CompletionError as error:
        fail(f"{llm}: {error}", Exit.UNREACHABLE, fix="run the same command again to go on")
    if json:
        print_json({"labelled": labelled, "without_label": refused, "out": str(target)})
    else:
        out.print(f"{labelled} labelled, {refused} without a label: {escape(str(target))}")


async def _label_all(
    settings: LlmSettings, source: Path, target: Path, *, json: bool
) -> tuple[int, int]:
    done = labelling.done_lines(target)
    waiting = [one for one in labelling.numbered(source) if one[0] not in done]
    client, labelled = CompletionClient(settings), 0
    try:
        with target.open("ab") as file, _progress(json=json) as progress:
            task = progress.add_task("labelling", total=len(waiting))
            for number, line in waiting:
                try:
                    found = await labelling.label(number, line, client.complete)
                except labelling.NoLabelError as error:
                    errors.print(f"line {number}: {escape(str(error))}")
                else:
                    file.write(msgspec.json.encode(found) + b"\n")
                    file.flush()
                    labelled += 1
                progress.advance(task)
    finally:
        await client.close()
    return labelled, len(waiting) - labelled


def _progress(*, json: bool) -> Progress:
    return Progress(console=Console(stderr=True), transient=True, disable=json)


@contextmanager
def _saying(*, json: bool) -> Iterator[runs.Say]:
    """A bar whose words say what is being done; refusals in words."""
    with _progress(json=json) as progress:
        task = progress.add_task("", total=None)
        try:
            yield lambda text: progress.update(task, description=text)
        except ImportError as error:
            fail(f"{error.name or error} is missing", fix="pip install 'hmas[train]'")
        except (OSError, ValueError, StorageError) as error:
            fail(str(error))


def from_folder(kind: str, data: Path | None, seed: int, *, json: bool) -> runs.Trained:
    with _saying(json=json) as say:
        return runs.train(runs.Kind(kind), data or runs.DATA, seed, say)


def from_labels(files: list[Path], data: Path | None, seed: int, *, json: bool) -> runs.Trained:
    with _saying(json=json) as say:
        try:
            return runs.tasks_from_labels(files, data, seed, say)
        except LabelledFileError as error:
            fail(str(error), Exit.USAGE)


def from_store(config: Path | None, seed: int, *, json: bool) -> runs.Trained:
    with _saying(json=json) as say:
        store = open_store(settings_from(config).settings.storage_url, migrate=False)
        try:
            return runs.lengths_from_store(store, seed, say)
        finally:
            store.close()


def finish(trained: runs.Trained, folder: Path, *, json: bool) -> None:
    try:
        written = runs.write(trained, folder)
    except OSError as error:
        fail(f"{folder} cannot be written: {error.strerror or error}")
    if json:
        print_json(msgspec.to_builtins(trained.report))
        return
    for path in written:
        out.print(f"[green]{escape(str(path))}[/]")
    for name, value in trained.report.metrics.items():
        _print_metric(name, value, "  ")


def _print_metric(name: str, value: object, indent: str) -> None:
    """Numbers beside their name; what is nested deeper than that, one row a name."""
    if isinstance(value, dict) and any(isinstance(part, dict) for part in value.values()):
        out.print(f"{indent}{escape(name)}:")
        for key, part in value.items():
            _print_metric(str(key), part, indent + "  ")
        return
    if isinstance(value, dict):
        value = ", ".join(f"{key} {part}" for key, part in value.items())
    out.print(f"{indent}{escape(name)}: {escape(str(value))}")

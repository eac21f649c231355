"""``hmas train``: models out of public sets or the operator's own traffic, and labels for sets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from hmas.daemon.cli.context import ConfigOption, JsonOption, out, print_json, settings_from
from hmas.daemon.cli.exits import Exit, errors, fail
from hmas.daemon.control.completion import CompletionClient, CompletionError
from hmas.daemon.control.settings import LlmSettings
from hmas.daemon.training import labelling, runs
from hmas.daemon.training.labelled import LabelledFileError
from hmas.storage.connect import open_store
from hmas.storage.errors import StorageError

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Train the models.")

DataOption = Annotated[Path | None, typer.Option("--data", help="Folder of the public sets.")]
SeedOption = Annotated[int, typer.Option("--seed", help="The same seed gives the same files.")]
OutOption = Annotated[Path, typer.Option("--out", help="Folder for model files and report.")]
DEFAULT_OUT = Path("out/models")
MODEL_SUFFIX = ".hmas"


@app.command()
def perception(
    *,
    data: DataOption = None,
    labelled: Annotated[
        list[Path] | None,
        typer.Option("--labelled", help="JSON lines of hmas train label; may be repeated."),
    ] = None,
    from_db: Annotated[
        bool, typer.Option("--from-db", help="Not possible: the store holds no prompts.")
    ] = False,
    seed: SeedOption = 0,
    out_dir: Annotated[
        Path, typer.Option("--out", help="Folder for model file and report, or FILE.hmas.")
    ] = DEFAULT_OUT,
    json: JsonOption = False,
) -> None:
    """Train the classifier of task types: on public sets, own labelled prompts, or both.

    --labelled alone learns the task types that occur there; with --data the public sets are
    learned from as well. A fifth of the prompts, near-duplicates together, is only tested on.

    Example: hmas train perception --labelled labelled.jsonl --out own.hmas
    """
    if from_db:
        fail(
            "the store holds no prompts, only the hashed words that lengths are learned from:"
            " task types cannot be learned from them",
            Exit.USAGE,
            fix="label prompts with hmas train label --llm URL, and give them with --labelled",
        )
    if labelled:
        trained = _from_labels(labelled, data, seed, json=json)
    else:
        trained = _from_folder(runs.Kind.PERCEPTION, data, seed, json=json)
    if out_dir.suffix == MODEL_SUFFIX:
        trained, out_dir = runs.named(trained, out_dir.stem), out_dir.parent
    _finish(trained, out_dir, json=json)


@app.command()
def length(
    *,
    data: DataOption = None,
    from_db: Annotated[
        bool, typer.Option("--from-db", help="Learn from the requests of tenants that agreed.")
    ] = False,
    seed: SeedOption = 0,
    out_dir: OutOption = DEFAULT_OUT,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Train the predictor of output lengths, on public sets or on own traffic.

    Example: hmas train length --from-db --out models
    """
    if from_db and data is not None:
        fail("--from-db and --data: choose one", Exit.USAGE)
    trained = (
        _from_store(config, seed, json=json)
        if from_db
        else _from_folder(runs.Kind.LENGTH, data, seed, json=json)
    )
    _finish(trained, out_dir, json=json)


@app.command()
def cost(
    *,
    data: DataOption = None,
    seed: SeedOption = 0,
    out_dir: OutOption = DEFAULT_OUT,
    json: JsonOption = False,
) -> None:
    """Train the predictors of TTFT, TPOT, throughput and latency on LLM-Pilot.

    Example: hmas train cost --data ../shared/data --out models
    """
    _finish(_from_folder(runs.Kind.COST, data, seed, json=json), out_dir, json=json)


@app.command()
def label(
    *,
    llm: Annotated[str, typer.Option("--llm", help="OpenAI-compatible endpoint, with /v1.")],
    model: Annotated[str, typer.Option("--model", help="Its model.")],
    source: Annotated[Path, typer.Option("--in", help="JSON lines, as for hmas tag.")],
    target: Annotated[Path, typer.Option("--out", help="Labelled JSON lines; appended to.")],
    json: JsonOption = False,
) -> None:
    """Label prompts offline with a language model; an interrupted run goes on where it stopped.

    Example: hmas train label --llm http://127.0.0.1:8000/v1 --model m --in a.jsonl --out b.jsonl
    """
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


def _from_folder(kind: runs.Kind, data: Path | None, seed: int, *, json: bool) -> runs.Trained:
    with _saying(json=json) as say:
        return runs.train(kind, data or runs.DATA, seed, say)


def _from_labels(files: list[Path], data: Path | None, seed: int, *, json: bool) -> runs.Trained:
    with _saying(json=json) as say:
        try:
            return runs.tasks_from_labels(files, data, seed, say)
        except LabelledFileError as error:
            fail(str(error), Exit.USAGE)


def _from_store(config: Path | None, seed: int, *, json: bool) -> runs.Trained:
    with _saying(json=json) as say:
        store = open_store(settings_from(config).settings.storage_url, migrate=False)
        try:
            return runs.lengths_from_store(store, seed, say)
        finally:
            store.close()


def _finish(trained: runs.Trained, folder: Path, *, json: bool) -> None:
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

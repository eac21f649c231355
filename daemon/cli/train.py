"""``hmas train``: models out of public sets or the operator's own traffic, and labels for sets.

What the commands do is imported when one of them runs: it takes a second, and every other command
of ``hmas`` would pay for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hmas.daemon.cli.context import ConfigOption, JsonOption
from hmas.daemon.cli.exits import Exit, fail

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
    from hmas.daemon.cli import training

    if labelled:
        trained = training.from_labels(labelled, data, seed, json=json)
    else:
        trained = training.from_folder("perception", data, seed, json=json)
    if out_dir.suffix == MODEL_SUFFIX:
        trained, out_dir = training.named(trained, out_dir.stem), out_dir.parent
    training.finish(trained, out_dir, json=json)


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
    from hmas.daemon.cli import training

    trained = (
        training.from_store(config, seed, json=json)
        if from_db
        else training.from_folder("length", data, seed, json=json)
    )
    training.finish(trained, out_dir, json=json)


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
    from hmas.daemon.cli import training

    training.finish(training.from_folder("cost", data, seed, json=json), out_dir, json=json)


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
    from hmas.daemon.cli import training

    training.label(llm, model, source, target, json=json)

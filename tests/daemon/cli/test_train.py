"""``hmas train``: models from own traffic, labels from a model, refusals in words."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from hmas.bench.scripted_engine import ScriptedEngine
from hmas.bench.scripted_llm import Failure, ScriptedLlm, served
from hmas.controllers.prediction.length_model import decode_model
from hmas.daemon.gateway.local import local_gateway
from hmas.daemon.gateway.settings import GatewaySettings
from hmas.storage.connect import open_store
from hmas.storage.records import TrainingRecord
from tests.daemon.cli.conftest import Hmas


@contextmanager
def answering(llm: ScriptedLlm) -> Iterator[str]:
    """The scripted endpoint in a thread of its own; yields its URL."""
    started, url = threading.Event(), list[str]()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        async with served(llm) as base:
            url.append(base)
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert started.wait(10)
    yield url[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    loop.close()


def prompts(folder: Path, count: int) -> Path:
    path = folder / "prompts.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"prompt {n}"}) + "\n" for n in range(count)))
    return path


def test_labels_and_goes_on_where_it_stopped(hmas: Hmas, tmp_path: Path) -> None:
    said = '{"task_type": "QA"}'
    llm = ScriptedLlm(said, script=deque([said, Failure.NOT_JSON, '{"task_type": "Nonsense"}']))
    source, target = prompts(tmp_path, 5), tmp_path / "labelled.jsonl"
    with answering(llm) as url:
        arguments = ("train", "label", "--llm", url, "--model", "m")
        files = ("--in", str(source), "--out", str(target))
        first = hmas.json(*arguments, *files)
        assert (first["labelled"], first["without_label"]) == (3, 2)
        asked = len(llm.asked)
        with target.open("ab") as cut_short:
            cut_short.write(b'{"line": 2, "task')
        again = hmas.json(*arguments, *files)
    assert (again["labelled"], again["without_label"]) == (2, 0)
    assert len(llm.asked) - asked == 2
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert sorted(row["line"] for row in rows) == [1, 2, 3, 4, 5]
    assert {row["task_type"] for row in rows} == {"QA"}
    schema = llm.asked[0]["response_format"]["json_schema"]["schema"]
    assert "Translation" in schema["properties"]["task_type"]["enum"]


def test_an_endpoint_that_is_not_there_is_exit_code_3(hmas: Hmas, tmp_path: Path) -> None:
    files = ("--in", str(prompts(tmp_path, 2)), "--out", str(tmp_path / "out.jsonl"))
    url = f"http://127.0.0.1:{hmas.admin_port}/v1"
    assert "again" in hmas.says(3, "train", "label", "--llm", url, "--model", "m", *files)


@pytest.mark.parametrize("kind", ["perception", "length", "cost"])
def test_a_folder_without_the_sets_is_an_error_in_words(
    kind: str, hmas: Hmas, tmp_path: Path
) -> None:
    said = hmas.says(1, "train", kind, "--data", str(tmp_path), "--out", str(tmp_path / "out"))
    assert "error:" in said
    assert not (tmp_path / "out").exists()


LABELS = {"QA": "zquest", "CodeGeneration": "zcoder", "EssayGeneration": "zwrite"}
"""A word that each task's prompts begin and end with; no rule knows it."""


def unlabelled(folder: Path, of_each: int) -> Path:
    rng = random.Random(1)
    path = folder / "unlabelled.jsonl"
    texts = [
        f"{word} {' '.join(''.join(rng.choices('bdfgklmnprstvz', k=6)) for _ in range(5))} {word}"
        for _ in range(of_each)
        for word in LABELS.values()
    ]
    path.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in texts))
    return path


async def task_named(classifier: Path, prompt: str) -> str:
    """What a gateway with this classifier answers."""
    async with ScriptedEngine().serving() as url:
        settings = GatewaySettings.model_validate(
            {"engines": [{"url": url}], "classifier": str(classifier), "tagging_budget_ms": 1000}
        )
        async with local_gateway(settings) as gateway, aiohttp.ClientSession() as session:
            body = {"model": "tiny", "prompt": prompt}
            async with session.post(f"{gateway.url}/v1/completions", json=body) as answer:
                return answer.headers["x-hmas-task-type"]


def test_from_labels_of_a_model_to_a_gateway_that_names_tasks(hmas: Hmas, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="training needs the extra 'train'")
    said = [json.dumps({"task_type": task}) for task in LABELS] * 30
    labelled, model = tmp_path / "labelled.jsonl", tmp_path / "mine" / "own.hmas"
    with answering(ScriptedLlm(script=deque(said))) as url:
        files = ("--in", str(unlabelled(tmp_path, 30)), "--out", str(labelled))
        assert hmas.json("train", "label", "--llm", url, "--model", "m", *files)["labelled"] == 90
    arguments = ("train", "perception", "--labelled", str(labelled), "--out", str(model))
    told = hmas.says(0, *arguments)
    report = hmas.json(*arguments)
    assert report["data"] == str(labelled)
    assert report["metrics"]["own_chain"] >= 0.9
    assert report["metrics"]["own_confusion"]["QA"]["QA"] >= 4
    assert str(report["metrics"]["own_chain"]) in told
    assert "own_confusion:" in told
    assert sorted(path.name for path in model.parent.iterdir()) == [
        "own.hmas",
        "own.md",
        "perception.report.json",
    ]
    assert "own: labelled.jsonl" in (model.parent / "own.md").read_text()
    for task, word in LABELS.items():
        assert asyncio.run(task_named(model, f"{word} gorman {word}")) == task


def test_wrong_labels_and_a_store_without_prompts_are_said(hmas: Hmas, tmp_path: Path) -> None:
    path = tmp_path / "labelled.jsonl"
    path.write_text('{"task_type": "Poetry", "request": {"prompt": "x"}}\n')
    folder = tmp_path / "out"
    said = hmas.says(2, "train", "perception", "--labelled", str(path), "--out", str(folder))
    assert f"{path} line 1, field `task_type` is 'Poetry': write one of" in said
    missing = str(tmp_path / "nowhere.jsonl")
    assert missing in hmas.says(1, "train", "perception", "--labelled", missing)
    said = hmas.says(2, "train", "perception", "--from-db")
    assert "no prompts" in said
    assert "hmas train label" in said
    assert not folder.exists()


def record(number: int) -> TrainingRecord:
    words = [number % 7, 100 + number % 3]
    numbers = [float(number % 5)] * 16
    return TrainingRecord(
        id=f"r{number}",
        at_s=float(number),
        tenant="acme",
        task_type="QA",
        model="m",
        prompt_tokens=20,
        predicted_output_tokens=100,
        output_tokens=10 + 50 * (number % 7),
        ttft_s=0.1,
        tpot_s=0.01,
        payload={"session": "", "numbers": numbers, "words": words, "opening": words[0]},
    )


def test_lengths_are_learned_from_own_traffic(hmas: Hmas, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/hmas.db"
    store = open_store(url)
    store.append([record(number) for number in range(400)])
    store.close()
    folder = tmp_path / "models"
    arguments = ("train", "length", "--from-db", "--seed", "3", "--out", str(folder))
    report = hmas.json(*arguments, HMAS_STORAGE__URL=url)
    assert report["data"] == "own traffic"
    assert report == json.loads((folder / "length.report.json").read_text())
    model = decode_model((folder / "length.model").read_bytes())
    assert (model.record.seed, model.record.data_hash) == (3, report["data_hash"])
    assert report["metrics"]["own traffic"]["mae_tokens"] < 30, "the words give the length away"


def test_too_little_traffic_is_said(hmas: Hmas, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/hmas.db"
    open_store(url).close()
    said = hmas.says(1, "train", "length", "--from-db", HMAS_STORAGE__URL=url)
    assert "learn: true" in said
    store = open_store(url)
    store.append([record(number) for number in range(20)])
    store.close()
    said = hmas.says(1, "train", "length", "--from-db", HMAS_STORAGE__URL=url)
    assert "at least 50" in said
    assert hmas("train", "length", "--from-db", "--data", str(tmp_path)).exit_code == 2

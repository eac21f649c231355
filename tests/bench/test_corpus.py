from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from hmas.bench.corpus import written
from hmas.bench.corpus.hand_labels import ALPACA, OASST_ROOTS, SEED_TASKS, USER_ORIENTED, labelled
from hmas.bench.corpus.sample import CODES, sample, some
from hmas.bench.corpus.split import balanced, grouped, split, without_near_duplicates
from hmas.bench.corpus.tasks import LOADERS, PUBLIC, load_tasks
from hmas.bench.corpus.written_single import SINGLE
from hmas.bench.corpus.written_tongues import TONGUES
from hmas.controllers.perception.training import TASKS, Sample
from hmas.engine.features import TaskType

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs the shared data folder")


@pytest.fixture(scope="module")
def everything() -> list[Sample]:
    if not DATA.is_dir():
        pytest.skip("needs the shared data folder")
    pytest.importorskip("pandas", reason="needs the extra 'train'")
    return load_tasks(DATA, 0)


def test_every_task_type_has_a_letter_and_templates() -> None:
    assert set(CODES.values()) == set(TASKS)
    assert set(SINGLE) == set(TASKS)
    assert set(TONGUES) == set(TASKS)


def test_every_loader_states_how_it_labels() -> None:
    assert all(loader.__doc__ for loader in LOADERS.values())
    assert set(LOADERS) - set(PUBLIC) == {"written", "tongues"}


@pytest.mark.parametrize("labels", [ALPACA, SEED_TASKS, USER_ORIENTED, OASST_ROOTS])
def test_hand_labels_are_letters_of_tasks_or_a_full_stop(labels: dict[int, str]) -> None:
    last = 0
    for first, words in labels.items():
        letters = words.replace(" ", "")
        assert set(letters) <= {*CODES, "."}
        assert first >= last
        last = first + len(letters)


def test_near_duplicates_share_a_group_also_by_way_of_others() -> None:
    pytest.importorskip("datasketch", reason="needs the extra 'train'")
    words = [f"word{number}" for number in range(60)]
    texts = [" ".join(words), " ".join(words[4:]), " ".join(words[8:]), "something else entirely"]
    groups = [one.group for one in grouped([sample("s", TaskType.QA, text) for text in texts])]
    assert len(set(groups[:3])) == 1
    assert len(set(groups)) == 2


def test_a_full_stop_is_no_label() -> None:
    assert list(labelled(["a", "b", "c"], {1: "Q."})) == [("b", TaskType.QA), ("c", None)]


def test_templates_in_other_languages_need_no_data() -> None:
    found = written.tongues(Path("nowhere"), random.Random(0))
    assert {one.task_type for one in found} == set(TASKS)
    assert not any("{" in one.prompt.text and "}" in one.prompt.text for one in found[:200])


def test_the_size_of_a_sample_is_that_of_its_texts() -> None:
    one = sample("s", TaskType.QA, "für", system="ab")
    assert one.prompt.size_bytes == 6


def test_some_keeps_the_order() -> None:
    assert some([3, 1, 2], 5, random.Random(0)) == [3, 1, 2]
    assert some(range(100), 5, random.Random(0)) == sorted(some(range(100), 5, random.Random(0)))


def test_near_duplicates_are_found_and_others_are_not() -> None:
    pytest.importorskip("datasketch", reason="needs the extra 'train'")
    text = "please tell me how many people live in the beautiful city of Lisbon today"
    tested = [sample("s", TaskType.QA, text)]
    near = sample("s", TaskType.QA, f"{text}?")
    far = sample("s", TaskType.QA, "who wrote the novel about the white whale and the sea")
    assert without_near_duplicates([near, far], tested) == [far]


def test_a_template_is_on_one_side_of_the_split() -> None:
    pytest.importorskip("datasketch", reason="needs the extra 'train'")
    samples = [
        sample("s", TaskType.QA, f"{random.Random(n).random()} {n}")._replace(group=str(n % 10))
        for n in range(100)
    ]
    found = split(samples, 0)
    assert {one.group for one in found.train} & {one.group for one in found.test} == set()
    assert len(found.test) == 20
    assert found == split(samples, 0)


def test_balance_takes_at_most_so_many_of_each_source() -> None:
    samples = [sample("ab"[n % 2], TaskType.QA, str(n)) for n in range(21)]
    found = Counter(one.source for one in balanced(samples, 4, 0))
    assert found == {"a": 4, "b": 4}


@needs_data
def test_all_sources_are_read_and_all_tasks_covered(everything: list[Sample]) -> None:
    assert {one.source for one in everything} == set(LOADERS)
    by_task = Counter(one.task_type for one in everything)
    assert set(by_task) == set(TASKS)
    assert min(by_task.values()) >= 200


@needs_data
def test_the_same_seed_gives_the_same_prompts(everything: list[Sample]) -> None:
    names = ("written", "gsm8k", "t0")
    again = load_tasks(DATA, 0, names)
    assert again == [one for name in names for one in everything if one.source == name]


@needs_data
def test_labels_are_what_a_source_is_known_for(everything: list[Sample]) -> None:
    only = {
        "gsm8k": {TaskType.MATH_REASONING},
        "wikisql": {TaskType.QA},
        "medquad": {TaskType.QA},
        "mmlu": {TaskType.QA, TaskType.MATH_REASONING},
        "humaneval": {TaskType.CODE_GENERATION},
        "tau_bench": {TaskType.DIALOGUE},
        "bfcl": {TaskType.INSTRUCTION_FOLLOWING},
        "who_and_when": {TaskType.RESEARCH_AND_COMMUNICATION},
    }
    for source, tasks in only.items():
        assert {one.task_type for one in everything if one.source == source} == tasks
    tools = {one.source for one in everything if one.prompt.tools}
    assert tools >= {"bfcl", "tau_bench", "llamafactory_tools"}


@needs_data
@pytest.mark.parametrize(
    ("source", "beginning", "task"),
    [
        ("alpaca", "Rewrite the sentence so that it's in the present", TaskType.PARAPHRASING),
        ("alpaca", "Generate a rap about dreams", TaskType.LONG_FORM_GENERATION),
        ("alpaca", "Paraphrase the sentence to remove the cliche", TaskType.PARAPHRASING),
        ("self_instruct", "Give me a cooking recipe", TaskType.INSTRUCTION_FOLLOWING),
        ("self_instruct", "Classify whether the following email is a spam", TaskType.EXTRACTION),
        ("self_instruct", "Rewrite the given text and correct grammar", TaskType.PARAPHRASING),
        ("self_instruct", "Explain the meaning of the given phrase", TaskType.QA),
        ("oasst", "Write a song about Angela Merkel", TaskType.LONG_FORM_GENERATION),
        ("oasst", "Write a letter to your future self", TaskType.LETTER_DRAFTING),
    ],
)
def test_hand_labels_stand_beside_their_prompts(
    everything: list[Sample], source: str, beginning: str, task: TaskType
) -> None:
    """One label too many or too few would shift all that follow."""
    found = [
        one for one in everything if one.source == source and one.prompt.text.startswith(beginning)
    ]
    assert found
    assert {one.task_type for one in found} == {task}

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.prediction.base import Question
from hmas.controllers.prediction.length_features import read_features
from hmas.controllers.prediction.length_model import (
    MAX_LOG,
    LengthModel,
    decode_model,
    encode_model,
    to_tokens,
)
from hmas.controllers.prediction.length_sessions import UNKNOWN
from hmas.controllers.prediction.sealed import CorruptModelError
from tests.controllers.prediction.length_support import WORDS, ask, small_file, small_model
from tests.controllers.prediction.test_length_features import questions


def guessed(text: str, tools: int = 0) -> float:
    features = read_features(ask(text, tools=tools))
    return to_tokens(small_model().guess(features, list(UNKNOWN)).median)


def test_it_learned_what_decides_the_length() -> None:
    for word, tokens in WORDS.items():
        assert guessed(f"please {word} topic3") == pytest.approx(tokens, rel=0.4, abs=1.5), word


def test_two_phases_a_tool_call_makes_the_answer_short() -> None:
    model = small_model()
    without = model.guess(read_features(ask("please why topic3")), list(UNKNOWN))
    offered = model.guess(read_features(ask("please why topic3", tools=1)), list(UNKNOWN))
    assert without.tool_probability == 0
    assert offered.tool_probability > 0.8
    assert offered.median < without.median


def test_probabilities_are_calibrated_between_knots() -> None:
    model = small_model()
    scores = [raw / 4 for raw in range(-60, 60)]
    answers = [model.tool_probability(raw) for raw in scores]
    assert answers == sorted(answers)
    assert all(0 <= answer <= 1 for answer in answers)


@given(questions)
def test_any_question_gets_a_bounded_guess(question: Question) -> None:
    guess = small_model().guess(read_features(question), list(UNKNOWN))
    assert 0 <= guess.median <= MAX_LOG
    assert 0 <= guess.spread <= MAX_LOG
    assert 0 <= guess.tool_probability <= 1


def test_a_file_is_read_back() -> None:
    record = small_model().record
    assert decode_model(encode_model(record)).record == record
    assert record.metrics["made up"]["rows"] > 0


@given(st.integers(0, len(small_file()) - 1), st.integers(1, 255))
def test_a_changed_byte_is_found(place: int, change: int) -> None:
    damaged = bytearray(small_file())
    damaged[place] ^= change
    with pytest.raises(CorruptModelError):
        decode_model(bytes(damaged))


@pytest.mark.parametrize("length", [0, 3, 4, 100])
def test_a_file_cut_off_is_refused(length: int) -> None:
    with pytest.raises(CorruptModelError):
        decode_model(small_file()[:length])


@pytest.mark.parametrize(
    "change",
    [{"format": "other"}, {"words": b"12"}, {"words": b"1"}, {"knots": []}],
)
def test_a_record_that_is_no_model_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(CorruptModelError):
        LengthModel(msgspec.structs.replace(small_model().record, **change))

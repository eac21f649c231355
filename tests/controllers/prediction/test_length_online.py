from __future__ import annotations

import numpy as np
import pytest

from hmas.controllers.prediction.length_online import TABLE, OnlineWords

SHORT, LONG = np.array([1, 2, 3]), np.array([3, 4, 5])


def test_learns_which_words_make_it_longer() -> None:
    words = OnlineWords()
    places = {name: words.places("a", one) for name, one in (("short", SHORT), ("long", LONG))}
    for _ in range(300):
        for name, truth in (("short", -0.5), ("long", 0.8)):
            words.learn(places[name], truth - words.correction(places[name]))
    assert words.correction(places["short"]) == pytest.approx(-0.5, abs=0.1)
    assert words.correction(places["long"]) == pytest.approx(0.8, abs=0.1)


def test_tenants_do_not_share_weights() -> None:
    words = OnlineWords()
    for _ in range(100):
        words.learn(words.places("a", SHORT), 1.0)
    assert words.correction(words.places("a", SHORT)) > 0.3
    assert words.correction(words.places("b", SHORT)) == 0


def test_one_outlier_teaches_little() -> None:
    words = OnlineWords()
    places = words.places("a", SHORT)
    words.learn(places, 1e9)
    assert 0 < words.correction(places) < 1


@pytest.mark.parametrize("tenant", ["", "\ud800", "x" * 10_000])
def test_places_stay_inside_the_table(tenant: str) -> None:
    places = OnlineWords().places(tenant, np.array([0, 2**14 - 1]))
    assert 0 <= places.min() <= places.max() < TABLE

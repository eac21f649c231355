import pytest

from hmas.bench.fidelity_run import Timing
from hmas.bench.fidelity_table import Comparison, compare, figures, render


def runs(scale):
    return [Timing(scale * n, scale * (n + 10.0), 11) for n in range(1, 101)]


def test_figures_are_quantiles_in_milliseconds():
    told = figures(runs(0.001))
    assert told["TTFT", 50] == pytest.approx(50.5)
    assert told["TPOT", 95] == pytest.approx(1.0)
    assert told["E2E", 50] == pytest.approx(60.5)


def test_errors_are_relative_to_the_median_of_reality():
    real = [figures(runs(scale)) for scale in (0.9, 1.0, 2.0)]
    rows = compare(real, figures(runs(1.08)))
    assert {round(row.error, 6) for row in rows} == {0.08}
    assert all(row.within_limit for row in rows)
    assert rows[0].noise == pytest.approx(2 / 3)


def test_one_real_run_has_no_noise_to_tell():
    [first, *_] = compare([figures(runs(1.0))], figures(runs(1.2)))
    assert first.noise is None
    assert not first.within_limit


def test_the_table_marks_what_is_above_the_limit():
    rows = compare([figures(runs(1.0))], figures(runs(1.2)))
    text = render(Comparison("engine", "detail", rows))
    assert text.count("above the limit") == 6
    assert "+20.0%" in text

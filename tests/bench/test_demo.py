from __future__ import annotations

import pytest

from hmas.bench.demo import WRONG_USAGE, describe, main, options_from, parser
from hmas.bench.workload import build_workload


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--trace", "nowhere.csv"], "nowhere.csv: cannot be read"),
        (["--profile", "none"], "no profile 'none'"),
        (["--speed", "0"], "speed must be a positive number"),
        (["--rps", "0"], "rps must be a positive number"),
        (["--duration", "nan"], "duration must be a positive number"),
    ],
)
def test_wrong_usage_starts_nothing(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == WRONG_USAGE
    assert message in capsys.readouterr().err


def test_options_reach_the_workload() -> None:
    given = ["--rps", "3", "--duration", "10", "--seed", "5", "--speed", "2", "--stay", "--json"]
    options = options_from(parser().parse_args(given))
    assert (options.workload.rps, options.workload.duration_s, options.workload.seed) == (3, 10, 5)
    assert (options.speed, options.stay, options.as_json) == (2.0, True, True)


def test_the_description_says_what_the_numbers_depend_on() -> None:
    options = options_from(parser().parse_args(["--rps", "3", "--duration", "10", "--speed", "2"]))
    text = describe(options, build_workload(options.workload))
    assert "30 requests in 10 s (3/s)" in text
    assert "predicted: log-normal error" in text
    assert "simulator a100-qwen3-8b, time compressed 2 times" in text
    assert "rules, every 20 s" in text

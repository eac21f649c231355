import json
from dataclasses import replace

import pytest

from hmas.bench.vllm_ab import Found, Plan, Round, main, render, report
from hmas.bench.vllm_ab_load import Unloaded

ROUND = Round(1, "stock", 0.2, 900.0, 2000.0, 20.0, 40.0, 100, 0, 0.5)


def found(hmas_goodput=0.5, lost=0):
    rounds = [
        replace(ROUND, number=number, system=system, goodput_rate=goodput, lost=lost)
        for number in (1, 2, 3)
        for system, goodput in (("stock", 0.2), ("hmas", hmas_goodput))
    ]
    return Found(Unloaded(50.0, 9.0), 4.0, 6.0, tuple(rounds))


def test_the_target_needs_the_ratio_and_every_request():
    assert report(found(), Plan(), [])["reached"]
    assert report(found(), Plan(), [])["ratio"] == pytest.approx(2.5)
    assert not report(found(hmas_goodput=0.25), Plan(), [])["reached"]
    assert not report(found(lost=1), Plan(), [])["reached"]


def test_beside_a_stock_that_serves_none_in_time_any_goodput_will_do():
    rounds = tuple(
        replace(one, goodput_rate=0.0) for one in found().rounds if one.system == "stock"
    )
    some = tuple(one for one in found().rounds if one.system == "hmas")
    outcome = report(replace(found(), rounds=rounds + some), Plan(), [])
    assert outcome["ratio"] is None
    assert outcome["reached"]
    assert "stock served none in time" in render(outcome)
    none = tuple(replace(one, goodput_rate=0.0) for one in some)
    assert not report(replace(found(), rounds=rounds + none), Plan(), [])["reached"]


def test_the_table_has_every_round_and_the_verdict():
    text = render(report(found(), Plan(), ["--rounds", "3"]))
    assert text.count("round") >= 6
    assert "target 1.5 x reached" in text


def test_without_vllm_it_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HMAS_TEST_VLLM_PYTHON", str(tmp_path / "none"))
    assert main([]) == 1
    assert "make setup-vllm" in capsys.readouterr().err


@pytest.mark.vllm
def test_a_short_round_on_a_real_vllm_loses_nothing(capsys):
    main(["--rounds", "1", "--seconds", "6", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["lost"] == 0
    assert [one["system"] for one in told["rounds"]] == ["stock", "hmas"]

"""The drill of a slow perception: the numbers, the page, and one short run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hmas.bench.masking import html, main, rows, summary


def test_the_share_within_the_budget_and_the_quantiles() -> None:
    found = summary(5.0, 2.0, [0.1] * 97 + [3.0, 4.0, 9.0], asked=1, skipped=99)
    assert found.within == pytest.approx(0.97)
    assert (found.p50_ms, found.p98_ms, found.longest_ms) == (0.1, 4.0, 9.0)
    assert "waits_ms" not in rows([found])[0]


def test_nothing_answered_is_no_measurement() -> None:
    with pytest.raises(ValueError, match="no request"):
        summary(0.0, 2.0, [], asked=0, skipped=0)


def test_the_page_shows_the_budget() -> None:
    found = summary(5.0, 2.0, [0.1, 0.2], asked=0, skipped=2)
    written = html([found], {"seed": "none"})
    assert "budget" in written
    assert "Time before dispatch" in written


def test_a_short_run_through_a_real_gateway(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "out" / "masking.html"
    arguments = ["--requests", "40", "--per-s", "200", "--delays-ms", "0", "50"]
    assert main([*arguments, "--html", str(page), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["holds"]
    plain, slow = found["measured"]
    assert (plain["requests"], slow["requests"], slow["asked"]) == (40, 40, 0)
    assert slow["skipped"] > 0
    assert page.stat().st_size > 1000

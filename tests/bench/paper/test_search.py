from __future__ import annotations

from functools import partial

import pytest

from hmas.bench.paper.search import find_rate, stock_compliance
from hmas.bench.scenarios.base import Scenario
from hmas.bench.scenarios.catalogue import shortened, slice_at


def brief(rps: float) -> Scenario:
    return shortened(slice_at("fast", rps), 0.1)


@pytest.mark.parametrize("wanted", [0.3, 0.8])
def test_a_rate_is_found_on_stock_alone(wanted: float) -> None:
    rate = find_rate(brief, wanted, (2.0, 40.0), seeds=1, data=None)
    found = partial(stock_compliance, seeds=1, data=None)
    assert found(brief(rate)) == pytest.approx(wanted, abs=0.15)
    assert found(brief(rate + 3)) < found(brief(max(1.0, rate - 3)))

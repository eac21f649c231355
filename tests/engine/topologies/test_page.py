from __future__ import annotations

from pathlib import Path

import pytest

from hmas.engine.topologies import TOPOLOGIES, hint_bounds, topology_names
from hmas.engine.topologies.page import page

WRITTEN = Path(__file__).parents[3] / "docs/topologies.md"


def test_the_page_is_what_the_registry_says() -> None:
    assert WRITTEN.read_text() == page(), (
        "write it anew: python -m hmas.engine.topologies.page > docs/topologies.md"
    )


@pytest.mark.parametrize("name", topology_names())
def test_each_topology_says_what_it_fights_what_it_costs_and_how_long_anything_waits(
    name: str,
) -> None:
    topology = TOPOLOGIES[name]
    text = page().partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert topology.fights in text
    assert "O(" in text
    assert "Starvation bound" in text
    assert all(f"| `{hint}` |" in text for hint in hint_bounds(name))

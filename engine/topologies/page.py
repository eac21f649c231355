"""docs/topologies.md, written from the registry.

``python -m hmas.engine.topologies.page > docs/topologies.md``
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator

from hmas.engine.topologies import TOPOLOGIES, Topology

HEAD = """\
# Queue topologies

Written from the code by `python -m hmas.engine.topologies.page > docs/topologies.md`; a test
compares the two. `hmas topology` shows the same pool with what is active where.

Common to all: requests that the engine gives back (preempted by vLLM, or not runnable yet) hold a
front rank. Of each `aging_every` admissions one serves the oldest waiting request, so a request
with k older ones ahead of it is admitted after at most `aging_every` x (k + 1) admissions, whatever
arrives meanwhile; `fcfs` needs no such rule. Deadline and duration topologies serve requests that
can still meet their TTFT target before those that cannot; late ones go last, oldest first. A swap
rebuilds the order in place between two steps and loses nothing. Costs are in priced tokens: an
output token counts as two input tokens. `hmas bench topologies` measures what each of them costs.
"""


def page() -> str:
    """The whole page, Markdown."""
    overview = ["| topology | group | fights |", "|---|---|---|"]
    overview += [f"| [`{t.name}`](#{t.name}) | {_group(t)} | {t.fights} |" for t in _all()]
    sections = [line for topology in _all() for line in _section(topology)]
    return "\n".join([HEAD, *overview, *sections]) + "\n"


def _all() -> Iterator[type[Topology]]:
    return iter(TOPOLOGIES.values())


def _group(topology: type[Topology]) -> str:
    return topology.__module__.rpartition(".")[2].replace("_", " ")


def _section(topology: type[Topology]) -> Iterator[str]:
    yield f"\n## {topology.name}\n\nFights {topology.fights}.\n"
    yield _markdown(inspect.getdoc(topology) or "")
    if topology.HINTS:
        yield "\n| hint | default | bounds | meaning |\n|---|---|---|---|"
    for name, spec in topology.HINTS.items():
        bounds = f"{_number(spec.low)} to {_number(spec.high)}"
        yield f"| `{name}` | {_number(spec.default)} | {bounds} | {spec.meaning} |"


def _markdown(docstring: str) -> str:
    """Roles and double backquotes of a docstring as plain code spans."""
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", docstring).replace("``", "`")


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


if __name__ == "__main__":
    sys.stdout.write(page())

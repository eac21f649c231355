import subprocess
import sys

from hmas.engine.simulator.sequence import Sequence
from tests.engine.simulator.support import sim_request


def sequence(number: int, hashes: tuple[int, ...] = ()) -> Sequence:
    request = sim_request(f"r{number}", 40, 5, hashes=hashes)
    return Sequence(request, 5, 0.0, number=number, payload=None)


def test_prefill_computes_prompt_and_output_so_far():
    entry = sequence(1)
    assert entry.tokens == 40
    entry.produced = 3
    assert entry.tokens == 43


def test_prefix_blocks_are_shared_as_far_as_the_hashes_go():
    first, second = sequence(1, (7, 8)), sequence(2, (7, 8))
    assert [first.unit(index) for index in (0, 1)] == [7, 8]
    own = {entry.unit(index) for entry in (first, second) for index in (2, 3)}
    assert len(own) == 4
    assert max(own) < 0


def test_engine_side_imports_neither_web_server_nor_numpy():
    program = (
        "import sys, hmas.engine.simulator.virtual, hmas.engine.simulator.pump,"
        " hmas.engine.simulator.openai_api;"
        "print([name for name in ('aiohttp', 'numpy') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"

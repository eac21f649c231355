from hmas.engine.simulator.batch import Batch
from hmas.engine.simulator.sequence import Sequence
from tests.engine.simulator.support import profile, sim_request


def batch(**limits: int) -> Batch:
    return Batch(profile(**limits).limits, caching=False, unit_tokens=None)


def waiting(number: int, prompt: int, output: int = 10) -> Sequence:
    request = sim_request(f"r{number}", prompt, output)
    return Sequence(request, output, 0.0, number=number, payload=None)


def decoding(running: Batch, number: int, prompt: int) -> Sequence:
    sequence = waiting(number, prompt)
    assert running.start(sequence, 1000) is not None
    sequence.produced = 1
    running.decodes.join(sequence)
    return sequence


def test_prompt_is_cut_to_the_budget_and_goes_on():
    running, sequence = batch(), waiting(1, 50)
    assert running.start(sequence, 30).tokens == 30
    assert running.partial is sequence
    assert running.kv.free == 32 - 2
    assert running.grow_partial(30).tokens == 20
    assert running.partial is None
    assert running.grow_partial(30) is None


def test_prompt_that_does_not_fit_as_a_whole_does_not_start():
    running = batch(kv_blocks=3)
    assert running.start(waiting(1, 50), 10) is None
    assert (len(running), running.kv.free) == (0, 3)


def test_stopping_gives_everything_back():
    running = batch()
    sequence = decoding(running, 1, 20)
    running.grow_decodes()
    running.decodes.advance()
    running.stop(sequence)
    assert (len(running), running.kv.free, running.decodes.count) == (0, 32, 0)


def test_decodes_grow_without_preemption_while_blocks_last():
    running = batch(kv_blocks=4)
    for number in (1, 2):
        decoding(running, number, 16)
    assert running.grow_decodes() == []
    assert running.kv.free == 0


def test_last_admitted_yields_to_earlier_ones():
    running = batch(kv_blocks=4)
    first, second, third = (decoding(running, number, 16) for number in (1, 2, 3))
    assert running.grow_decodes() == [third]
    assert list(running) == [first, second]
    assert running.kv.free == 0


def test_unfinished_prompt_yields_to_decodes():
    running = batch(kv_blocks=4)
    decoding(running, 1, 16)
    prompt = waiting(2, 40)
    running.start(prompt, 17)
    running.kv.allocate(1)
    assert running.grow_decodes() == [prompt]
    assert running.partial is None

from types import SimpleNamespace

from hmas.bench.measure_vllm import StepRecorder, StepShape, rows


class OneRequestScheduler:
    """Prefills 100 tokens in one step, then decodes one token per step."""

    def __init__(self):
        self.requests = {"a": SimpleNamespace(num_computed_tokens=0, num_prompt_tokens=100)}

    def schedule(self):
        held = self.requests["a"]
        tokens = 100 if held.num_computed_tokens == 0 else 1
        held.num_computed_tokens += tokens
        return SimpleNamespace(num_scheduled_tokens={"a": tokens})

    def update_from_output(self, output):
        return output


def test_recorder_tells_prefill_from_decode():
    scheduler = OneRequestScheduler()
    recorder = StepRecorder(scheduler)
    for _ in range(3):
        scheduler.update_from_output(scheduler.schedule())
    assert {shape: len(times) for shape, times in recorder.samples.items()} == {
        StepShape(100, 100, 1): 1,
        StepShape(0, 128, 1): 2,
    }


def test_rows_are_lower_quartiles_of_shapes_seen_often_enough():
    samples = {StepShape(0, 64, 1): [9.0, 1.0, 2.0, 8.0, 1.5], StepShape(5, 5, 1): [3.0]}
    assert list(rows(samples, fewest=2)) == [
        {
            "prefill_tokens": 0,
            "context_tokens": 64,
            "sequences": 1,
            "step_ms": 1.25,
            "samples": 5,
        }
    ]

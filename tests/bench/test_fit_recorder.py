import io
import json
from types import SimpleNamespace

from hmas.bench.fit_recorder import SchedulerProbe, read_log
from hmas.bench.kernels import StepShape


class OneRequestScheduler:
    """Computes a prompt of 100 tokens, then one more token, and is done."""

    def __init__(self):
        self.requests = {}

    def add_request(self, request):
        self.requests[request.request_id] = request

    def has_unfinished_requests(self):
        return bool(self.requests)

    def has_requests(self):
        """True once more after the end, as in vLLM: the workers are told of finished requests."""
        return True

    def schedule(self):
        held = self.requests["a"]
        tokens = 100 if held.num_computed_tokens == 0 else 1
        held.num_computed_tokens += tokens
        return SimpleNamespace(num_scheduled_tokens={"a": tokens})

    def update_from_output(self, output):
        first = output.num_scheduled_tokens["a"] == 100
        answer = SimpleNamespace(
            request_id="a",
            prefill_stats={} if first else None,
            finish_reason=None if first else "length",
        )
        if not first:
            self.requests.clear()
        return {0: SimpleNamespace(outputs=[answer])}


def recorded(tmp_path):
    scheduler, sink = OneRequestScheduler(), io.StringIO()
    SchedulerProbe(scheduler, sink, clock=iter(range(10, 100)).__next__)
    scheduler.add_request(
        SimpleNamespace(request_id="a", num_computed_tokens=0, num_prompt_tokens=100)
    )
    for _ in range(2):
        scheduler.update_from_output(scheduler.schedule())
    path = tmp_path / "steps.jsonl"
    path.write_text(sink.getvalue() + '["step", 99')
    return path


def test_steps_last_until_the_next_one_and_requests_are_followed(tmp_path):
    log = read_log(recorded(tmp_path))
    assert log.shapes == [StepShape(100, 100, 1), StepShape(0, 101, 1)]
    assert log.step_ms == [2000.0, 1000.0]
    times = log.requests["a"]
    assert (times.added_s, times.first_s, times.last_s) == (10, 13, 14)


def test_a_pause_after_the_last_request_is_no_part_of_a_step(tmp_path):
    scheduler, sink = OneRequestScheduler(), io.StringIO()
    now = iter([0, 0, 1, 1, 2, 500, 500, 501, 501, 502])
    SchedulerProbe(scheduler, sink, clock=now.__next__)
    for _ in range(2):
        scheduler.add_request(
            SimpleNamespace(request_id="a", num_computed_tokens=0, num_prompt_tokens=100)
        )
        for _ in range(2):
            scheduler.update_from_output(scheduler.schedule())
    path = tmp_path / "steps.jsonl"
    path.write_text(sink.getvalue())
    assert read_log(path).step_ms == [1000.0] * 4


def test_only_the_wanted_time_is_read(tmp_path):
    log = read_log(recorded(tmp_path), since_s=12.5)
    assert log.shapes == [StepShape(0, 101, 1)]
    assert log.requests == {}


def test_every_line_is_json(tmp_path):
    *whole, _ = recorded(tmp_path).read_text().split("\n")
    assert [json.loads(line)[0] for line in whole] == ["added", "step", "first", "step", "last"]

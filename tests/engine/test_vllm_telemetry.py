import pytest

from hmas.engine.events import Outcome, RequestFinished, RequestFirstToken
from hmas.engine.topologies import QueuedRequest
from hmas.engine.vllm_requests import Tracked
from hmas.engine.vllm_telemetry import BusyTime, StepReport, StepSums, finished, first_token
from tests.engine.fake_vllm import FakeRequest, Status
from tests.engine.support import features


class Stopwatch:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_overlapping_steps_are_busy_once() -> None:
    watch = Stopwatch()
    busy = BusyTime(watch)
    for now_s, change in ((1.0, 1), (2.0, 1), (3.0, -1), (4.0, -1), (6.0, 1), (7.0, -1)):
        watch.now_s = now_s
        if change > 0:
            busy.begin(now_s)
        else:
            busy.end()
    assert busy.take() == pytest.approx(4.0)
    assert busy.take() == 0.0


def test_a_report_in_the_middle_of_a_step_counts_its_first_part() -> None:
    watch = Stopwatch()
    busy = BusyTime(watch)
    busy.begin(0.0)
    watch.now_s = 3.0
    assert busy.take() == pytest.approx(3.0)
    watch.now_s = 5.0
    busy.end()
    assert busy.take() == pytest.approx(2.0)


def test_steps_are_summed_and_the_span_covers_all_time() -> None:
    watch = Stopwatch()
    report = StepReport(BusyTime(watch))
    assert report.due()
    report.take()
    assert not report.due()
    report.sums.add(prefill_tokens=30, tokens=34, context_tokens=100, sequences=5)
    report.sums.add(prefill_tokens=0, tokens=5, context_tokens=105, sequences=5)
    watch.now_s = 0.05
    assert report.due()
    sums, span_s = report.take()
    assert sums == StepSums(2, 0.0, 30, 9, 205, 10, 0)
    assert span_s == pytest.approx(0.05)
    watch.now_s = 1.2
    assert report.due(), "an idle engine still says so now and then"


def entry(**fields: object) -> QueuedRequest:
    request = FakeRequest("e", status=Status.FINISHED_STOPPED, **fields)  # type: ignore[arg-type]
    tracked = Tracked(request, 1, 11.0)
    tracked.started_at_s = 12.5
    tracked.cached_tokens = 16
    return QueuedRequest(features("ours", arrival_s=10.0), tracked)


def test_the_truth_about_a_request() -> None:
    spoke = entry(num_output_tokens=5, num_preemptions=2)
    first = first_token(spoke, 13.0)
    assert first == RequestFirstToken(
        at_s=13.0, request_id="ours", ttft_s=3.0, queue_s=1.5, cached_tokens=16
    )
    ended = finished(spoke, 15.0)
    assert isinstance(ended, RequestFinished)
    assert ended.outcome is Outcome.COMPLETED
    assert (ended.ttft_s, ended.tpot_s, ended.queue_s) == (3.0, 0.5, 1.5)
    assert (ended.output_tokens, ended.preemptions) == (5, 2)


def test_a_single_token_has_no_time_per_token() -> None:
    spoke = entry(num_output_tokens=1)
    first_token(spoke, 13.0)
    ended = finished(spoke, 13.0)
    assert isinstance(ended, RequestFinished)
    assert (ended.ttft_s, ended.tpot_s) == (3.0, 0.0)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (Status.FINISHED_STOPPED, Outcome.COMPLETED),
        (Status.FINISHED_ABORTED, Outcome.ABORTED),
        (Status.FINISHED_ERROR, Outcome.FAILED),
    ],
)
def test_how_it_ended(status: Status, outcome: Outcome) -> None:
    silent = QueuedRequest(features(), Tracked(FakeRequest("e", status=status), 1, 2.0))
    ended = finished(silent, 5.0)
    assert isinstance(ended, RequestFinished)
    assert (ended.outcome, ended.ttft_s, ended.queue_s) == (outcome, 0.0, 3.0)

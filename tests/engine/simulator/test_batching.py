import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hmas.engine.directive import Controls, Describe, StepModel
from hmas.engine.events import Outcome, RequestFirstToken
from hmas.engine.simulator.batching import RefusedRequestError
from hmas.engine.topologies import topology_names
from tests.engine.simulator.support import Bench, profile, sim_request


def test_small_case_by_hand():
    """Budget 64: a's prompt and part of b's, then a decodes while b's prompt ends."""
    bench = Bench(stock=True)
    bench.add("a", 40, 3)
    bench.add("b", 50, 2)
    assert bench.steps() == [
        {"a": 40, "b": 24},
        {"a": 1, "b": 26},
        {"a": 1, "b": 1},
    ]
    assert bench.finished["a"].ttft_s == pytest.approx(0.001)
    assert bench.finished["a"].tpot_s == pytest.approx(0.001)
    assert bench.finished["b"].ttft_s == pytest.approx(0.002)
    assert bench.finished["b"].output_tokens == 2


def test_step_time_counts_prefill_context_and_sequences():
    model = StepModel(
        base_ms=10.0, prefill_ms=1.0, context_ms=0.1, sequence_ms=2.0, prefill_quadratic_ms=0.01
    )
    bench = Bench(profile(model), stock=True)
    bench.add("a", 20, 2)
    plan = bench.engine.begin()
    assert plan.duration_s * 1000 == pytest.approx(10 + 20 + 2 + 2 + 4)
    bench.engine.end()
    plan = bench.engine.begin()
    assert (plan.prefill_tokens, plan.context_tokens, plan.sequences) == (0, 21, 1)
    assert plan.duration_s * 1000 == pytest.approx(10 + 2.1 + 2)


def test_sequence_limit_holds():
    bench = Bench(profile(max_num_seqs=2), stock=True)
    for name in "abc":
        bench.add(name, 4, 3)
    steps = bench.steps()
    assert max(len(step) for step in steps) == 2
    assert "c" not in steps[2]
    assert "c" in steps[3]


def test_request_waits_until_all_of_its_prompt_fits():
    """Three blocks: one runs with two, the next needs two although a chunk needs one."""
    bench = Bench(profile(kv_blocks=3, max_model_len=48, max_num_batched_tokens=24), stock=True)
    bench.add("a", 20, 2)
    bench.add("b", 30, 1)
    assert bench.steps() == [{"a": 20}, {"a": 1}, {"b": 24}, {"b": 6}]


def test_last_admitted_is_preempted_recomputed_and_nothing_is_admitted_meanwhile():
    """Both fill their block at once, one block is free: the later one yields and starts anew."""
    bench = Bench(profile(kv_blocks=3, max_model_len=48), stock=True)
    bench.add("a", 16, 4)
    bench.add("b", 16, 4)
    steps = bench.steps()
    assert steps[0] == {"a": 16, "b": 16}
    assert steps[1] == {"a": 1}
    assert {"b": 17} in steps
    assert bench.engine.preemptions == 1
    assert bench.finished["b"].preemptions == 1
    assert bench.finished["b"].output_tokens == 4
    assert sum(stats.preemptions for stats in bench.stats) == 1


def test_request_with_one_output_token_never_decodes():
    bench = Bench(stock=True)
    bench.add("a", 10, 1)
    assert bench.steps() == [{"a": 10}]
    assert bench.finished["a"].tpot_s == 0


def test_output_ends_at_max_tokens_and_at_the_model_context():
    bench = Bench(profile(max_model_len=64))
    bench.add("capped", 10, 50, max_tokens=5)
    bench.add("long", 60, 50)
    bench.steps()
    assert bench.finished["capped"].output_tokens == 5
    assert bench.finished["long"].output_tokens == 4


@pytest.mark.parametrize(
    ("prompt", "output", "message"),
    [(0, 5, "prompt_tokens"), (256, 5, "context"), (10, 0, "output_tokens")],
)
def test_impossible_requests_are_refused(prompt, output, message):
    bench = Bench()
    with pytest.raises(RefusedRequestError, match=message):
        bench.add("a", prompt, output)
    assert not bench.engine.has_work


def test_events_in_order_with_queue_time():
    bench = Bench(profile(max_num_seqs=1), stock=True)
    bench.add("a", 10, 3)
    bench.add("b", 10, 1)
    bench.steps()
    first = {e.request_id: e for e in bench.events if isinstance(e, RequestFirstToken)}
    assert first["a"].queue_s == 0
    assert first["b"].queue_s == pytest.approx(0.003)
    assert bench.finished["b"].queue_s == first["b"].queue_s
    last = bench.stats[-1]
    assert (last.running, last.waiting, last.kv_used) == (0, 0, 0)
    assert sum(stats.decode_tokens for stats in bench.stats) == 2


def test_abort_waiting_running_and_in_the_middle_of_a_step():
    bench = Bench(profile(max_num_seqs=2))
    a, b, c = (bench.add(name, 10, 50) for name in "abc")
    bench.step()
    assert bench.engine.abort(c)
    assert bench.engine.abort(a)
    plan = bench.engine.begin()
    assert plan is not None
    assert bench.engine.abort(b)
    assert bench.engine.has_work
    bench.engine.end()
    assert not bench.engine.has_work
    assert not bench.engine.abort(b)
    assert {event.outcome for event in bench.finished.values()} == {Outcome.ABORTED}
    assert [bench.finished[name].output_tokens for name in "abc"] == [1, 2, 0]
    assert bench.engine.kv_used == 0


def test_begin_and_end_alternate():
    bench = Bench()
    with pytest.raises(RuntimeError, match="no step"):
        bench.engine.end()
    assert bench.engine.begin() is None
    bench.add("a", 10, 2)
    bench.engine.begin()
    with pytest.raises(RuntimeError, match="not ended"):
        bench.engine.begin()


def test_shared_prefix_is_computed_once():
    bench = Bench(prefix_caching=True, stock=True)
    bench.add("a", 40, 2, hashes=(7, 8))
    bench.step()
    bench.add("b", 40, 2, hashes=(7, 8))
    bench.add("c", 40, 2, hashes=(7, 9))
    assert bench.step() == {"a": 1, "b": 8, "c": 24}
    bench.steps()
    cached = {e.request_id: e.cached_tokens for e in bench.events if hasattr(e, "cached_tokens")}
    assert cached == {"a": 0, "b": 32, "c": 16}


def test_directive_changes_order_and_limits_from_the_next_step():
    bench = Bench(profile(max_num_seqs=4))
    bench.add("long", 10, 40)
    bench.add("short", 10, 3)
    assert bench.direct(1, "sjf", controls=Controls(n_run=1)).accepted
    assert bench.step() == {"short": 10}
    assert bench.engine.running == 1
    assert bench.stats[-1].topology == "sjf"
    assert bench.stats[-1].n_run == 1
    bench.steps()
    assert set(bench.finished) == {"long", "short"}


def test_token_budget_is_respected():
    bench = Bench()
    for name in "abc":
        bench.add(name, 60, 10)
    bench.direct(1, controls=Controls(token_budget=20))
    steps = bench.steps()
    assert max(sum(step.values()) for step in steps) == 20


def test_lost_lease_is_noticed_while_idle_and_reported():
    bench = Bench()
    assert bench.direct(1, "edf", ttl_s=5.0).accepted
    bench.clock.advance(4.0)
    bench.engine.check_lease()
    assert not bench.events
    bench.clock.advance(2.0)
    bench.engine.check_lease()
    assert bench.stats[-1].lease_expired
    assert bench.stats[-1].topology == "fcfs"
    assert bench.engine.handle(Describe()).lease_expired


def test_stock_engine_refuses_directives():
    bench = Bench(stock=True)
    reply = bench.direct(1, "edf")
    assert not reply.accepted
    assert "stock" in reply.reason
    assert bench.engine.core is None


def test_description_says_what_it_is():
    description = Bench().engine.handle(Describe())
    assert (description.kind, description.model) == ("simulator", "small")
    assert description.topologies == list(topology_names())
    assert description.limits == profile().limits


@st.composite
def workloads(draw):
    count = draw(st.integers(1, 30))
    return [
        (
            draw(st.integers(1, 120)),
            draw(st.integers(1, 100)),
            draw(st.integers(0, 20)),
            tuple(draw(st.lists(st.integers(0, 3), max_size=4))),
        )
        for _ in range(count)
    ]


@st.composite
def engines(draw):
    block_size = draw(st.sampled_from([1, 4, 16]))
    return profile(
        max_num_seqs=draw(st.integers(1, 8)),
        max_num_batched_tokens=draw(st.integers(8, 80)),
        block_size=block_size,
        kv_blocks=-(-256 // block_size) + draw(st.integers(0, 20)),
    )


def check_step(bench, tokens):
    engine, limits = bench.engine, bench.engine.profile.limits
    assert sum(tokens.values()) <= limits.max_num_batched_tokens
    assert len(tokens) <= limits.max_num_seqs
    assert 0 <= engine.kv_used <= 1


def drive(bench, workload, disturb):
    """Arrivals by step; ``disturb`` acts before each step. Returns names and outputs."""
    expected = {}
    pending = [
        (step, f"r{number}", prompt, output, hashes)
        for number, (prompt, output, step, hashes) in enumerate(workload)
    ]
    number = 0
    while pending or bench.engine.has_work:
        for entry in [entry for entry in pending if entry[0] <= number]:
            pending.remove(entry)
            _, name, prompt, output, hashes = entry
            expected[name] = min(output, bench.engine.profile.limits.max_model_len - prompt)
            bench.add(name, prompt, output, hashes=hashes)
        disturb(number)
        check_step(bench, bench.step())
        number += 1
        assert number < 20_000
    return expected


@settings(max_examples=60, deadline=None)
@given(engines(), workloads(), st.booleans(), st.booleans())
def test_every_request_finishes_once_with_its_length(used, workload, stock, caching):
    bench = Bench(used, stock=stock, prefix_caching=caching)
    expected = drive(bench, workload, lambda step: None)
    assert {name: event.output_tokens for name, event in bench.finished.items()} == expected
    assert bench.engine.kv_used == 0
    assert sum(s.prefill_tokens for s in bench.stats) <= sum(s.context_tokens for s in bench.stats)


directives = st.fixed_dictionaries(
    {
        "topology": st.sampled_from(list(topology_names())),
        "controls": st.builds(
            Controls,
            n_run=st.none() | st.integers(1, 1),
            token_budget=st.none() | st.integers(1, 8),
            fence=st.none() | st.just({0: 10}) | st.just({3: -50}),
            kv_margin=st.sampled_from([0.0, 0.5]),
            step_model=st.none()
            | st.just(StepModel(base_ms=1, prefill_ms=1, context_ms=0, sequence_ms=0)),
        ),
        "bypass": st.booleans(),
        "ttl_s": st.sampled_from([0.001, 0.02, 100.0]),
    }
)


@settings(max_examples=60, deadline=None)
@given(engines(), workloads(), st.lists(directives, max_size=20))
def test_no_directive_loses_duplicates_or_starves_a_request(used, workload, sent):
    bench = Bench(used)
    versions = iter(enumerate(sent, start=1))

    def disturb(step):
        if step % 3 == 0 and (entry := next(versions, None)) is not None:
            assert bench.direct(entry[0], **entry[1]).accepted

    expected = drive(bench, workload, disturb)
    assert {name: event.output_tokens for name, event in bench.finished.items()} == expected
    assert bench.engine.kv_used == 0
    core = bench.engine.core
    assert (core.running, len(core), core.fence.booked_blocks) == (0, 0, 0)


@settings(max_examples=30, deadline=None)
@given(engines(), workloads(), st.booleans())
def test_core_without_directive_schedules_as_stock(used, workload, caching):
    stock, core = (Bench(used, stock=stock, prefix_caching=caching) for stock in (True, False))
    for number, (prompt, output, _, hashes) in enumerate(workload):
        for bench in (stock, core):
            bench.engine.add(sim_request(f"r{number}", prompt, output, hashes=hashes))
    assert stock.steps() == core.steps()


def test_a_long_decode_yields_to_a_short_request_once_and_all_finish():
    bench = Bench(profile(max_num_seqs=2, kv_blocks=64, max_model_len=512))
    bench.direct(1, "srtf", hints={"min_run_s": 0.01})
    for name in ("long", "longer"):
        bench.add(name, 16, 300 + len(name), slo_tpot_ms=1000.0)
    for _ in range(50):
        bench.step()
    bench.add("short", 16, 5, arrival_s=bench.clock.now_s())
    steps = bench.steps()
    assert steps[0] == {"long": 1, "short": 16}
    assert {name: event.preemptions for name, event in bench.finished.items()} == {
        "long": 0,
        "longer": 1,
        "short": 0,
    }
    assert bench.finished["short"].ttft_s == pytest.approx(0.001)
    assert bench.finished["longer"].output_tokens == 306
    assert sum(event.preemptions for event in bench.stats) == bench.engine.preemptions == 1
    assert bench.engine.core.fence.booked_blocks == 0


@pytest.mark.parametrize("topology", topology_names())
def test_short_requests_overtake_running_ones_under_srtf_only(topology):
    bench = Bench(profile(max_num_seqs=2, kv_blocks=64, max_model_len=512))
    bench.direct(1, topology)
    for name in ("a", "b"):
        bench.add(name, 16, 400, slo_tpot_ms=1e5)
    bench.clock.advance(0.0)
    for _ in range(3000 if topology == "srtf" else 100):
        bench.step()
        if bench.engine.running < 2:
            break
    bench.add("short", 16, 5, arrival_s=bench.clock.now_s())
    bench.steps()
    assert bench.engine.preemptions in ((0, 1) if topology == "srtf" else (0,))
    assert len(bench.finished) == 3

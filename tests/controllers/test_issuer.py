from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hmas.controllers.issuer import SOFT_REFRESH_S, Content, Issuer
from hmas.engine.directive import Controls, Directive, StepModel
from tests.controllers.support import ENGINE, reply


def make_issuer(version: int = 0) -> Issuer:
    return Issuer(ENGINE, ttl_s=5.0, retry_s=30.0, version=version)


def content(topology: str = "fcfs", **controls: object) -> Content:
    unnumbered = Controls(**controls)  # type: ignore[arg-type]
    return Content(topology=topology, hints={}, bypass=False, controls=unnumbered)


def issued(issuer: Issuer, wanted: Content, now_s: float) -> Directive:
    directive = issuer.issue(wanted, "cause", now_s)
    assert directive is not None
    issuer.acknowledge(directive, reply(directive), now_s)
    return directive


def test_nothing_new_is_no_directive() -> None:
    issuer = make_issuer()
    first = issued(issuer, content(), 0.0)
    assert (first.version, first.ttl_s, first.cause) == (1, 5.0, "cause")
    assert issuer.issue(content(), "cause", 100.0) is None
    assert issuer.active == first


def test_a_hard_change_goes_out_at_once() -> None:
    issuer = make_issuer(41)
    assert issued(issuer, content(), 0.0).version == 42
    assert issued(issuer, content("edf"), 0.1).version == 43
    assert issued(issuer, content("edf", n_run=9), 0.2).version == 44
    assert issued(issuer, content("edf", n_run=9, fence={0: 1}), 0.3).version == 45


def test_a_drifting_fence_waits_and_small_changes_do_not_count() -> None:
    issuer = make_issuer()
    issued(issuer, content(fence={0: 100}), 0.0)
    assert issuer.issue(content(fence={0: 200}), "", SOFT_REFRESH_S / 2) is None
    assert issuer.issue(content(fence={0: 105}), "", SOFT_REFRESH_S * 2) is None
    assert issued(issuer, content(fence={0: 200}), SOFT_REFRESH_S * 2).version == 2


def test_a_new_step_model_waits_too() -> None:
    issuer = make_issuer()
    old = StepModel(base_ms=1, prefill_ms=1, context_ms=0, sequence_ms=0)
    new = StepModel(base_ms=2, prefill_ms=1, context_ms=0, sequence_ms=0)
    issued(issuer, content(step_model=old), 0.0)
    assert issuer.issue(content(step_model=new), "", 1.0) is None
    assert issued(issuer, content(step_model=new), 6.0).version == 2


def test_a_refusal_keeps_the_last_known_good_and_is_not_repeated_at_once() -> None:
    issuer = make_issuer()
    good = issued(issuer, content(), 0.0)
    bad = issuer.issue(content("edf"), "", 1.0)
    assert bad is not None
    answer = reply(bad, accepted=False, active_version=1, topology="fcfs", reason="no such hint")
    assert "no such hint" in issuer.acknowledge(bad, answer, 1.0)
    assert issuer.active == good
    assert issuer.issue(content("edf"), "", 5.0) is None
    assert issued(issuer, content("sjf"), 6.0).version == 3
    assert issuer.refused is None


def test_a_refused_directive_is_tried_again_later() -> None:
    issuer = make_issuer()
    bad = issuer.issue(content("edf"), "", 0.0)
    assert bad is not None
    issuer.acknowledge(bad, reply(bad, accepted=False, active_version=0, reason="busy"), 0.0)
    assert issuer.active is None
    assert issuer.issue(content("edf"), "", 29.0) is None
    assert issued(issuer, content("edf"), 30.0).version == 2


def test_an_engine_that_runs_a_higher_version_is_overtaken() -> None:
    issuer = make_issuer()
    stale = issuer.issue(content(), "", 0.0)
    assert stale is not None
    assert issuer.acknowledge(stale, reply(stale, active_version=70), 0.0)
    assert issued(issuer, content(), 0.1).version == 71


@given(
    st.lists(
        st.tuples(st.sampled_from(["fcfs", "edf", "sjf"]), st.integers(0, 3), st.integers(0, 90)),
        max_size=60,
    )
)
def test_versions_strictly_increase_whatever_the_engine_answers(
    story: list[tuple[str, int, int]],
) -> None:
    issuer, last, now_s = make_issuer(), 0, 0.0
    for topology, answer, engine_version in story:
        now_s += 1.0
        directive = issuer.issue(content(topology), "", now_s)
        if directive is None:
            continue
        assert directive.version > last
        last = directive.version
        match answer:
            case 0:
                issuer.acknowledge(directive, reply(directive), now_s)
            case 1:
                refused = reply(directive, accepted=False, active_version=min(engine_version, last))
                issuer.acknowledge(directive, refused, now_s)
            case 2:
                issuer.acknowledge(
                    directive, reply(directive, active_version=engine_version), now_s
                )
        assert issuer.version >= last


def test_renewing_the_last_good_directive_does_not_forget_the_refusal() -> None:
    issuer = make_issuer()
    good = issued(issuer, content(), 0.0)
    bad = issuer.issue(content("edf"), "", 1.0)
    assert bad is not None
    issuer.acknowledge(bad, reply(bad, accepted=False, active_version=1), 1.0)
    for k in range(20):
        issuer.acknowledge(good, reply(good), 1.0 + k)
        assert issuer.issue(content("edf", fence={0: k}), "", 1.0 + k) is None

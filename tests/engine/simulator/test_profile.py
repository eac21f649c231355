import msgspec
import pytest

from hmas.engine.simulator.profile import (
    Frontend,
    Profile,
    ProfileError,
    decode_profile,
    load_profile,
    profile_names,
)


@pytest.fixture
def profile() -> Profile:
    return load_profile("cpu-tiny")


def encoded(profile: Profile, **changes: object) -> bytes:
    return msgspec.json.encode({**msgspec.to_builtins(profile), **changes})


def test_shipped_profiles_state_source_licence_and_command():
    assert {"a100-qwen3-8b", "cpu-tiny", "h100-qwen3-30b-a3b"} <= set(profile_names())
    for name in profile_names():
        profile = load_profile(name)
        assert profile.name == name
        assert profile.source
        assert profile.licence
        assert profile.command.startswith(f"python -m hmas.bench.fit {name}")
        assert profile.fit is not None
        assert profile.fit.median < 0.11


def test_shipped_limits_are_vllms_own_defaults():
    a100, h100 = load_profile("a100-qwen3-8b").limits, load_profile("h100-qwen3-30b-a3b").limits
    assert (a100.max_num_batched_tokens, a100.max_num_seqs, a100.block_size) == (2048, 256, 16)
    assert (h100.max_num_batched_tokens, h100.max_num_seqs, h100.block_size) == (8192, 1024, 16)


def test_profile_file_is_loaded_by_path(tmp_path, profile):
    path = tmp_path / "mine.json"
    path.write_bytes(encoded(profile, name="mine"))
    assert load_profile(str(path)).name == "mine"


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ProfileError, match="cpu-tiny"):
        load_profile("b300-gpt")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kv_bytes_per_token": 0}, "kv_bytes_per_token"),
        ({"colour": "red"}, "colour"),
        ({"step_model": {"base_ms": 1.0}}, "prefill_ms"),
        (
            {"step_model": {"base_ms": 0, "prefill_ms": 1, "context_ms": 0, "sequence_ms": 0}},
            "step_model.base_ms",
        ),
        (
            {"step_model": {"base_ms": 1, "prefill_ms": -1, "context_ms": 0, "sequence_ms": 0}},
            "step_model.prefill_ms",
        ),
    ],
)
def test_bad_fields_are_named(profile, changes, message):
    with pytest.raises(ProfileError, match=message):
        decode_profile(encoded(profile, **changes), origin="test")


@pytest.mark.parametrize("field", ["kv_blocks", "block_size", "max_model_len", "max_num_seqs"])
def test_limits_below_one_are_refused(profile, field):
    limits = msgspec.to_builtins(profile.limits) | {field: 0}
    with pytest.raises(ProfileError, match=rf"limits\.{field}"):
        decode_profile(encoded(profile, limits=limits), origin="test")


def test_token_limit_below_sequence_limit_is_refused(profile):
    limits = msgspec.to_builtins(profile.limits) | {"max_num_batched_tokens": 8}
    with pytest.raises(ProfileError, match="max_num_seqs"):
        decode_profile(encoded(profile, limits=limits), origin="test")


def test_not_json_is_refused():
    with pytest.raises(ProfileError, match="broken"):
        decode_profile(b"{", origin="broken")


def test_a_frontend_costs_per_request_and_per_prompt_token():
    frontend = Frontend(request_ms=2.0, prompt_token_ms=0.01)
    assert frontend.request_s(100) == pytest.approx(0.003)

import json

import pytest

from hmas.bench.random_model import (
    CPU_LLAMA,
    QWEN3_8B,
    QWEN3_TINY,
    byte_alphabet,
    tokenizer,
    write_model,
)


@pytest.mark.parametrize("config", [CPU_LLAMA, QWEN3_TINY], ids=["llama", "qwen3"])
def test_every_id_of_the_model_has_a_text(config):
    vocabulary = tokenizer(config["vocab_size"])["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(config["vocab_size"]))


def test_the_alphabet_covers_every_byte_once():
    alphabet = byte_alphabet()
    assert len(set(alphabet)) == 256
    assert alphabet[ord("a")] == "a"
    assert alphabet[ord(" ")] == "Ġ"


def test_the_big_model_has_the_published_shape():
    parameters = 2 * QWEN3_8B["vocab_size"] * QWEN3_8B["hidden_size"] + QWEN3_8B[
        "num_hidden_layers"
    ] * QWEN3_8B["hidden_size"] * (
        3 * QWEN3_8B["intermediate_size"] + (2 * 32 + 2 * 8) * QWEN3_8B["head_dim"]
    )
    assert parameters == pytest.approx(8.19e9, rel=0.01)


def test_what_is_written_is_what_vllm_reads(tmp_path):
    directory = write_model(tmp_path / "model", QWEN3_TINY)
    config = json.loads((directory / "config.json").read_text())
    assert config["architectures"] == ["Qwen3ForCausalLM"]
    assert {path.name for path in directory.iterdir()} == {
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }

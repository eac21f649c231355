"""Models without weights, made offline: a configuration and a byte-level tokenizer.

vLLM fills them with random weights (``--load-format dummy``). The tokenizer is written by hand,
since the real ones are not at hand everywhere: 256 bytes, two special tokens, and words that
give every other id a text. It encodes one token per byte; benchmarks send token ids instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

SPECIAL: Final = ("<|begin|>", "<|end|>")
_ATTENTION: Final = {"attention_bias": False, "rms_norm_eps": 1e-6, "tie_word_embeddings": False}
_QWEN3: Final = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "torch_dtype": "bfloat16",
    "hidden_act": "silu", "rope_theta": 1_000_000.0, "use_sliding_window": False,
    "bos_token_id": 0, "eos_token_id": 1, "head_dim": 128, **_ATTENTION,
}  # fmt: skip

QWEN3_8B: Final[Mapping[str, Any]] = {
    **_QWEN3, "hidden_size": 4096, "intermediate_size": 12_288, "num_hidden_layers": 36,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 151_936,
    "max_position_embeddings": 40_960,
}  # fmt: skip
"""Shape of Qwen/Qwen3-8B, with our tokenizer's special tokens."""

QWEN3_TINY: Final[Mapping[str, Any]] = {
    **_QWEN3, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 1024,
    "max_position_embeddings": 8192,
}  # fmt: skip
"""The same architecture, for tests on a CPU."""

CPU_LLAMA: Final[Mapping[str, Any]] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "float32",
    "hidden_act": "silu", "hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 8,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 64, "vocab_size": 2048,
    "max_position_embeddings": 4096, "rope_theta": 10_000.0, "bos_token_id": 0, "eos_token_id": 1,
    "mlp_bias": False, **_ATTENTION,
}  # fmt: skip
"""26 million parameters: on one core a step takes ten milliseconds, not one as a tiny model's.

The share of a step that is Python, sockets and the neighbour's noise shrinks with it.
"""


def write_model(directory: Path, config: Mapping[str, Any]) -> Path:
    """Write what vLLM reads of a model, except weights, into ``directory``; returns it."""
    directory.mkdir(parents=True, exist_ok=True)
    longest = config["max_position_embeddings"]
    begin, end = SPECIAL
    files = {
        "config.json": config,
        "generation_config.json": {"eos_token_id": config["eos_token_id"]},
        "tokenizer.json": tokenizer(config["vocab_size"]),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": longest,
            "bos_token": begin, "eos_token": end, "pad_token": end,
            "clean_up_tokenization_spaces": False,
            "chat_template": "{% for message in messages %}{{ message['content'] }}{% endfor %}",
        },
    }  # fmt: skip
    for name, content in files.items():
        (directory / name).write_text(json.dumps(content), encoding="utf-8")
    return directory


def tokenizer(vocabulary: int) -> dict[str, Any]:
    """``tokenizer.json`` of a byte-level BPE without merges and ``vocabulary`` entries."""
    entries = [*SPECIAL, *byte_alphabet()]
    entries += [f"Ġword{number}" for number in range(vocabulary - len(entries))]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    special = [
        {"id": number, "content": name, "single_word": False, "lstrip": False, "rstrip": False,
         "normalized": False, "special": True}
        for number, name in enumerate(SPECIAL)
    ]  # fmt: skip
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": None, "pre_tokenizer": {**byte_level, "use_regex": True},
        "post_processor": None, "decoder": {**byte_level, "use_regex": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
            "ignore_merges": False, "merges": [],
            "vocab": {name: number for number, name in enumerate(entries)},
        },
    }  # fmt: skip


def byte_alphabet() -> list[str]:
    """One printable character per byte, as byte-level BPE writes it (GPT-2's table)."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1)]
    shown += range(ord("®"), ord("ÿ") + 1)
    hidden = [byte for byte in range(256) if byte not in shown]
    table = {byte: chr(byte) for byte in shown}
    table |= {byte: chr(256 + place) for place, byte in enumerate(hidden)}
    return [table[byte] for byte in range(256)]

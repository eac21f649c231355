"""A tiny Llama-style model with random weights, tokenizer and chat template, made offline.

Runs inside the vLLM environment: ``python tiny_model.py DIRECTORY``. The same seed gives the
same files, so two engines answer alike. Weights are float32 and wide enough that greedy
decoding does not depend on how requests are batched.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 1024
HIDDEN = 128
LAYERS = 2
HEADS = 4
KV_HEADS = 2
FEED_FORWARD = 256
MAX_POSITIONS = 8192
SPECIAL = ("<|pad|>", "<|begin|>", "<|end|>", "<|user|>", "<|assistant|>", "<|system|>")
CHAT_TEMPLATE = (
    "<|begin|>{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
CORPUS = (
    "The scheduler orders requests by deadline, by length or by fair share of each tenant. ",
    "A burst of long prompts makes short ones wait; isolation keeps two lanes apart. ",
    'Answer in JSON: {"topology": "edf", "bypass": false, "reason": "deadlines are missed"}. ',
    "What is the capital of France? Write a short letter, then translate it into German. ",
    "0 1 2 3 4 5 6 7 8 9 10 20 30 40 50 100 250 500 1000 tokens per second, 99.9 percent. ",
)


def train_tokenizer() -> Tokenizer:
    """Byte-level BPE with exactly ``VOCABULARY`` entries: every model output has a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    missing = VOCABULARY - tokenizer.get_vocab_size()
    tokenizer.add_tokens([f" word{number}" for number in range(missing)])
    return tokenizer


def model_config() -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN,
        "intermediate_size": FEED_FORWARD,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HIDDEN // HEADS,
        "hidden_act": "silu",
        "max_position_embeddings": MAX_POSITIONS,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": SPECIAL.index("<|begin|>"),
        "eos_token_id": SPECIAL.index("<|end|>"),
        "pad_token_id": SPECIAL.index("<|pad|>"),
    }


def random_weights(seed: int = 20) -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    generator = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        values = generator.standard_normal((rows, columns)) / np.sqrt(columns)
        return values.astype(np.float32)

    ones = np.ones(HIDDEN, dtype=np.float32)
    kv_width = KV_HEADS * HIDDEN // HEADS
    weights = {
        "model.embed_tokens.weight": matrix(VOCABULARY, HIDDEN) * np.float32(np.sqrt(HIDDEN)),
        "model.norm.weight": ones.copy(),
        "lm_head.weight": matrix(VOCABULARY, HIDDEN),
    }
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}"
        weights |= {
            f"{prefix}.input_layernorm.weight": ones.copy(),
            f"{prefix}.post_attention_layernorm.weight": ones.copy(),
            f"{prefix}.self_attn.q_proj.weight": matrix(HIDDEN, HIDDEN),
            f"{prefix}.self_attn.k_proj.weight": matrix(kv_width, HIDDEN),
            f"{prefix}.self_attn.v_proj.weight": matrix(kv_width, HIDDEN),
            f"{prefix}.self_attn.o_proj.weight": matrix(HIDDEN, HIDDEN),
            f"{prefix}.mlp.gate_proj.weight": matrix(FEED_FORWARD, HIDDEN),
            f"{prefix}.mlp.up_proj.weight": matrix(FEED_FORWARD, HIDDEN),
            f"{prefix}.mlp.down_proj.weight": matrix(HIDDEN, FEED_FORWARD),
        }
    return weights


def make_tiny_model(directory: Path) -> Path:
    """Write the model into ``directory`` and return it."""
    directory.mkdir(parents=True, exist_ok=True)
    train_tokenizer().save(str(directory / "tokenizer.json"))
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": MAX_POSITIONS,
        "bos_token": "<|begin|>",
        "eos_token": "<|end|>",
        "pad_token": "<|pad|>",
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT_TEMPLATE,
    }
    (directory / "config.json").write_text(json.dumps(model_config(), indent=1))
    (directory / "tokenizer_config.json").write_text(json.dumps(tokenizer_config, indent=1))
    (directory / "generation_config.json").write_text(
        json.dumps({"eos_token_id": SPECIAL.index("<|end|>")})
    )
    save_file(random_weights(), str(directory / "model.safetensors"), metadata={"format": "pt"})
    return directory


if __name__ == "__main__":
    make_tiny_model(Path(sys.argv[1]))

"""Trains a small language model with irtool's own training step, and writes it as a GGUF file that `irtool build` reads.

    python samples/chat/train.py --steps 7000 -o samples/chat/model.gguf README.md CONTRIBUTING.md docs/*.md

The paragraphs of the pages are cut into tokens by a byte-level vocabulary that is made of them (byte-pair encoding), the network is a Llama of four layers, and
the step is C: its forward pass, its gradients and Adam's update. Matrices are written in Q8_0, 8 bits and a scale for each 32 weights.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import math
import re
import struct
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import irtool

WORDS, WIDTH, INNER, HEADS, GROUPS, LAYERS, CONTEXT = 768, 128, 384, 4, 2, 4, 256
SIZE = WIDTH // HEADS
PIECE = re.compile(r" ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")
"""A text is cut into these before bytes are joined, as chat.c does it."""


def letters_of_bytes() -> dict[int, str]:
    """A visible letter for each byte, as tokens are written in files of this kind."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + n) for n, b in enumerate(others)}}


def pairs_of(text: str, count: int) -> list[tuple[str, str]]:
    """The pairs of tokens that are joined, most frequent first, until there are `count` tokens beside the end of a text."""
    letters = letters_of_bytes()
    pieces = collections.Counter(PIECE.findall(text))
    words = {tuple(letters[b] for b in piece.encode()): n for piece, n in sorted(pieces.items())}
    merges: list[tuple[str, str]] = []
    while len(letters) + len(merges) < count:
        pairs: collections.Counter[tuple[str, str]] = collections.Counter()
        for word, n in words.items():
            for pair in itertools.pairwise(word):
                pairs[pair] += n
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        joined: collections.Counter[tuple[str, ...]] = collections.Counter()
        for word, n in words.items():
            joined[join(word, best)] += n
        words = joined
    return merges


def join(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    """A word with each such pair as one token, from the left."""
    result: list[str] = []
    for letter in word:
        if result and (result[-1], letter) == pair:
            result[-1] += letter
        else:
            result.append(letter)
    return tuple(result)


def tokens_of(text: str, merges: Sequence[tuple[str, str]], numbers: Mapping[str, int]) -> list[int]:
    """The numbers of the tokens of a text."""
    letters = letters_of_bytes()
    ranks = {pair: n for n, pair in enumerate(merges)}
    known: dict[str, list[int]] = {}
    result: list[int] = []
    for piece in PIECE.findall(text):
        if piece not in known:
            word = tuple(letters[b] for b in piece.encode())
            while True:
                pairs = [p for p in itertools.pairwise(word) if p in ranks]
                if not pairs:
                    break
                word = join(word, min(pairs, key=ranks.__getitem__))
            known[piece] = [numbers[t] for t in word]
        result += known[piece]
    return result


def prose(page: str) -> str:
    """The paragraphs of a page in Markdown, each in one line, without code, tables, headings and lists of options."""
    page = re.sub(r"^(```|~~~).*?^\1[^\n]*$", "", page, flags=re.DOTALL | re.MULTILINE)
    paragraphs = [" ".join(p.split()) for p in re.split(r"\n\s*\n", page)]
    links = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
    chosen = [links.sub(r"\1", p) for p in paragraphs if re.match(r"[A-Z`]", p) and p.endswith((".", ":"))]
    return "\n".join(chosen) + "\n"


def first_weights(seed: int) -> dict[str, np.ndarray]:
    """Random weights; those of the products that are added to the rows are smaller, by the number of them."""
    rng = np.random.default_rng(seed)

    def matrix(rows: int, columns: int, scale: float = 1.0) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) * 0.02 * scale).astype("float32")

    added = 1 / math.sqrt(2 * LAYERS)
    weights = {"token_embd.weight": matrix(WORDS, WIDTH), "output_norm.weight": np.ones(WIDTH, "float32")}
    for n in range(LAYERS):
        layer = {
            "attn_norm": np.ones(WIDTH, "float32"),
            "attn_q": matrix(WIDTH, WIDTH),
            "attn_k": matrix(GROUPS * SIZE, WIDTH),
            "attn_v": matrix(GROUPS * SIZE, WIDTH),
            "attn_output": matrix(WIDTH, WIDTH, added),
            "ffn_norm": np.ones(WIDTH, "float32"),
            "ffn_gate": matrix(INNER, WIDTH),
            "ffn_up": matrix(INNER, WIDTH),
            "ffn_down": matrix(WIDTH, INNER, added),
        }
        weights |= {f"blk.{n}.{part}.weight": array for part, array in layer.items()}
    return weights


def metadata() -> dict[str, Any]:
    """The numbers of the network."""
    return {
        "general.architecture": "llama",
        "general.name": "irtool-docs",
        "llama.block_count": LAYERS,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": GROUPS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": SIZE,
    }


def train(tokens: Sequence[int], steps: int, rate: float, seed: int) -> dict[str, np.ndarray]:
    """The weights after so many steps of one text of `CONTEXT` tokens each."""
    module, weights = irtool.from_gguf(gguf(metadata(), first_weights(seed)), training=True)
    options = irtool.TrainOptions(optimizer="adamw", learning_rate="input", class_axis=-1, betas=(0.9, 0.98))
    step = irtool.train_step(module, weights, options)
    instance = irtool.build(step.module, step.params, name="step").instance()
    data, rng, mean, start = np.asarray(tokens, "int64"), np.random.default_rng(seed), 0.0, time.time()
    for n in range(steps):
        first = int(rng.integers(0, len(data) - CONTEXT))
        text, target = data[first : first + CONTEXT], data[first + 1 : first + CONTEXT + 1]
        factor = min((n + 1) / 100, 0.5 * (1 + math.cos(math.pi * n / steps)) + 0.02)
        loss = instance.step(ids=text.astype("int32"), target=target, learning_rate=np.float32(rate * factor))
        mean += (float(np.asarray(loss)) - mean) / min(n + 1, 100)
        if n % 100 == 99:
            print(
                f"step {n + 1}: loss {mean:.3f}, {(n + 1) * CONTEXT / (time.time() - start):.0f} tokens/s", flush=True
            )
    return {name: np.asarray(a) for name, a in instance.values().items() if name in weights}


def packed(array: np.ndarray) -> tuple[int, tuple[int, ...], bytes]:
    """A tensor: the number of its format, its shape, its bytes. A matrix has a scale in float16 for each 32 numbers of 8 bits (Q8_0)."""
    if array.ndim != 2:
        return 0, array.shape, array.astype("<f4").tobytes()
    blocks = array.reshape(-1, 32)
    scale = np.maximum(np.abs(blocks).max(-1, keepdims=True) / 127, 1e-7).astype("<f2")
    numbers = np.clip(np.round(blocks / scale.astype("float32")), -127, 127).astype("int8")
    return 8, array.shape, np.concatenate([scale.view("int8"), numbers], -1).tobytes()


def gguf(values: Mapping[str, Any], weights: Mapping[str, np.ndarray], pack: bool = False) -> bytes:
    """A file of this format: metadata, a table of tensors, and their bytes."""
    table, data = b"", b""
    for name, array in weights.items():
        form, shape, raw = packed(array) if pack else (0, array.shape, array.astype("<f4").tobytes())
        table += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], form, len(data))
        data += raw + bytes(-len(raw) % 32)
    pairs = b"".join(text(key) + value(v) for key, v in values.items())
    head = b"GGUF" + struct.pack("<IQQ", 3, len(weights), len(values)) + pairs + table
    return head + bytes(-len(head) % 32) + data


def text(s: str) -> bytes:
    """A string behind its length."""
    return struct.pack("<Q", len(s.encode())) + s.encode()


def value(v: Any) -> bytes:
    """A value of metadata behind the number of its type."""
    if isinstance(v, list):
        kind = 8 if isinstance(v[0], str) else 5
        return struct.pack("<IIQ", 9, kind, len(v)) + b"".join(value(x)[4:] for x in v)
    if isinstance(v, str):
        return struct.pack("<I", 8) + text(v)
    return struct.pack("<If", 6, v) if isinstance(v, float) else struct.pack("<II", 4, v)


def vocabulary(merges: Iterable[tuple[str, str]]) -> list[str]:
    """The tokens by number: bytes, joined ones, and the end of a text."""
    return [*letters_of_bytes().values(), *(a + b for a, b in merges), "<|endoftext|>"]


def main() -> None:
    """Trains and writes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("texts", nargs="+", type=Path)
    parser.add_argument("-o", dest="output", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=7000)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    texts = [prose(path.read_text(encoding="utf-8")) for path in options.texts]
    merges = pairs_of("".join(texts), WORDS - 1)
    words = vocabulary(merges)
    numbers = {word: n for n, word in enumerate(words)}
    end = numbers["<|endoftext|>"]
    tokens = [t for one in texts for t in [end, *tokens_of(one, merges, numbers)]]
    print(f"{sum(map(len, texts))} characters, {len(tokens)} tokens, {len(words)} in the vocabulary", flush=True)
    weights = train(tokens, options.steps, options.rate, options.seed)
    tokenizer = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.token_type": [3 if n == end else 1 for n in range(len(words))],
        "tokenizer.ggml.merges": [f"{a} {b}" for a, b in merges],
        "tokenizer.ggml.bos_token_id": end,
        "tokenizer.ggml.eos_token_id": end,
    }
    options.output.write_bytes(gguf({**metadata(), **tokenizer}, weights, pack=True))


if __name__ == "__main__":
    main()

"""The tokenizer of samples/chat beside the package tokenizers (`make test-peers`): vocabularies of this project's pages, and random texts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.chat_tokenizer import SANITIZED, SOURCES, TOKENIZE, tokenized
from tests.driver.programs import compile_c
from tests.frontends.gguf.files import gguf

pytestmark = pytest.mark.promise("growing states")

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PATTERNS = {"gpt-2": "", "llama-bpe": LLAMA3, "qwen2": LLAMA3.replace("{1,3}", ""), "smollm": "digits"}
"""The expressions of the tokenizer's own files."""
CHARACTERS = " \n\t\r'sStTrReEmMlLdDaZé日本٣²½Ⅷ123 .,!?-_/\u2019\u00a0\u3000\u2003🙂\u0301नम\u017f"
PAGES = [
    p for f in sorted((Path(__file__).parents[2] / "docs").glob("*.md")) for p in f.read_text("utf-8").split("\n\n")
]
OTHERS = ["Ünïcödé “quotes”, 日本語のテキスト、漢字。 Привет, мир! ½ ² ٣٤٥ Ⅷ 🙂🙂 नमस्ते עברית"] * 5


def texts() -> list[str]:
    """Paragraphs, and random characters."""
    rng = random.Random(0)
    mixed = ["".join(rng.choice(CHARACTERS) for _ in range(rng.randint(1, 40))) for _ in range(600)]
    return [t for t in PAGES[:120] if 0 < len(t) < 16000] + mixed


def vocabulary(tokenizer: Any) -> tuple[list[str], list[tuple[str, str]]]:
    """Its tokens in order, and its merges."""
    model = json.loads(tokenizer.to_str())["model"]
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]]
    return sorted(model["vocab"], key=model["vocab"].__getitem__), merges  # type: ignore[return-value]  # each has two parts


def byte_level(pre: str) -> tuple[Any, dict[str, Any]]:
    """A tokenizer with the cuts of that name, and its metadata."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    result = Tokenizer(models.BPE(ignore_merges=pre == "llama-bpe"))
    bytes_of_regex = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if PATTERNS[pre] == "digits":
        cuts = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bytes_of_regex])
    elif PATTERNS[pre]:
        cuts = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PATTERNS[pre]), "isolated"), plain])
    else:
        cuts = bytes_of_regex
    result.pre_tokenizer = cuts
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1500, initial_alphabet=alphabet, show_progress=False)
    result.train_from_iterator([*PAGES, *OTHERS], trainer)
    tokens, merges = vocabulary(result)
    return result, {"model": "gpt2", "pre": pre, "tokens": tokens, "merges": [" ".join(m) for m in merges]}


def sentences() -> tuple[Any, dict[str, Any]]:
    """A tokenizer as converters make one of SentencePiece's, and its metadata."""
    from tokenizers import Tokenizer, models, normalizers, trainers

    result = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    result.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    named = ["<unk>", "<s>", "</s>", *(f"<0x{n:02X}>" for n in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=1800, special_tokens=named, show_progress=False, max_token_length=16)
    result.train_from_iterator([t.replace(" ", "\u2581") for t in [*PAGES, *OTHERS]], trainer)
    tokens, merges = vocabulary(result)
    ranks: dict[str, int] = {}
    for n, pair in enumerate(merges):
        ranks.setdefault("".join(pair), n)
    types = [2, 3, 3, *[6] * 256, *[1] * (len(tokens) - len(named))]
    scores = [-float(ranks.get(t, 10**6)) for t in tokens]
    return result, {"model": "llama", "tokens": tokens, "scores": scores, "token_type": types, "unknown_token_id": 0}


@pytest.mark.parametrize("kind", [*PATTERNS, "sentences"])
def test_the_same_tokens(kind: str, pytestconfig: pytest.Config, tmp_path: Path) -> None:
    if not pytestconfig.getoption("--peers"):
        pytest.skip("only with --peers")
    pytest.importorskip("tokenizers")
    expected, metadata = sentences() if kind == "sentences" else byte_level(kind)
    (tmp_path / "m.gguf").write_bytes(gguf({f"tokenizer.ggml.{k}": v for k, v in metadata.items()}, {}))
    (tmp_path / "main.c").write_text(TOKENIZE)
    compile_c(tmp_path, "main", "main.c", *SOURCES, flags=SANITIZED)
    done = tokenized(tmp_path / "main", tmp_path / "m.gguf", *(t.encode() for t in texts()))
    assert done.returncode == 0, done.stderr.decode()
    for text, line in zip(texts(), done.stdout.decode().splitlines(), strict=True):
        assert [int(t) for t in line.split()[:-1]] == expected.encode(text, add_special_tokens=False).ids, text

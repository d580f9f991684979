"""The sample of samples/chat: its tokenizers beside definitions, hostile files, its sampling, and the texts of its network."""

from __future__ import annotations

import importlib.util
import struct
import subprocess
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.parser.gguf import read_gguf
from tests.chat_tokenizer import FOLDER, SANITIZED, SOURCES, TOKENIZE, tokenized
from tests.driver.programs import STRICT, compile_c, run
from tests.frontends.gguf.files import gguf

pytestmark = pytest.mark.promise("growing states")

MODEL = FOLDER / "model.gguf"
SAMPLE = """#include "sampling.h"
#include <stdio.h>

int main(void) {
  static struct candidate work[5];
  static const float logits[] = {1, 3, 3, -2, 2};
  struct sampler s = {TEMPERATURE, TOP_K, TOP_P, SEED};
  int k, counts[5] = {0};
  for (k = 0; k < 10000; ++k) ++counts[sample(&s, logits, 5, work)];
  for (k = 0; k < 5; ++k) printf("%d ", counts[k]);
  return 0;
}
"""


def script(name: str = "train") -> ModuleType:
    """The script that trains the network, or another one."""
    spec = importlib.util.spec_from_file_location(f"sample_chat_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that reads texts, with the checks of sanitizers."""
    folder = tmp_path_factory.mktemp("tokenizer")
    (folder / "main.c").write_text(TOKENIZE)
    compile_c(folder, "main", "main.c", *SOURCES, flags=SANITIZED)
    return folder / "main"


def test_tokens_are_those_of_the_script(tokenizer: Path) -> None:
    train = script()
    words, merges = vocabulary()
    numbers = {word: n for n, word in enumerate(words)}
    page = (FOLDER.parent.parent / "docs" / "tour.md").read_bytes()[:4000]
    texts = [
        b"A pass is",
        b"  two  spaces \n\n and lines\t ",
        b"x86_64, 3.14 (nn.conv2d)!",
        page.decode("ascii", "ignore").encode(),
    ]
    done = tokenized(tokenizer, MODEL, *texts)
    assert done.returncode == 0, done.stderr.decode()
    for line, text in zip(done.stdout.decode().splitlines(), texts, strict=True):
        *tokens, verdict = line.split()
        assert verdict == "same"
        assert list(map(int, tokens)) == train.tokens_of(text.decode(), merges, numbers)


def test_any_bytes_come_back(tokenizer: Path) -> None:
    rng = np.random.default_rng(0)
    texts = [rng.integers(0, 256, int(n)).astype("uint8").tobytes() for n in rng.integers(1, 300, 50)]
    texts.append("Ünïcödé — “quotes”, 日本語".encode())
    done = tokenized(tokenizer, MODEL, *texts)
    assert done.returncode == 0, done.stderr.decode()
    assert [line.split()[-1] for line in done.stdout.decode().splitlines()] == ["same"] * len(texts)


def vocabulary() -> tuple[list[str], list[tuple[str, str]]]:
    """The tokens and the merges of the file."""
    data = MODEL.read_bytes()

    def strings(key: bytes) -> Iterator[str]:
        place = data.index(struct.pack("<Q", len(key)) + key) + 8 + len(key)
        kind, element, count = struct.unpack_from("<IIQ", data, place)
        assert (kind, element) == (9, 8)
        place += 16
        for _ in range(count):
            (length,) = struct.unpack_from("<Q", data, place)
            yield data[place + 8 : place + 8 + length].decode()
            place += 8 + length

    merges = [m.split(" ") for m in strings(b"tokenizer.ggml.merges")]
    return list(strings(b"tokenizer.ggml.tokens")), [(a, b) for a, b in merges]


def test_damaged_files_end_with_an_error(tokenizer: Path, tmp_path: Path) -> None:
    train, rng, path = script(), np.random.default_rng(1), tmp_path / "m.gguf"
    tokens = [*"abc ", "ab", "abc", "<|end|>"]
    whole = train.gguf(
        {
            "tokenizer.ggml.model": "gpt2",
            "tokenizer.ggml.pre": "gpt-2",
            "tokenizer.ggml.tokens": ["Ġ" if t == " " else t for t in tokens],
            "tokenizer.ggml.token_type": [1, 1, 1, 1, 1, 1, 3],
            "tokenizer.ggml.merges": ["a b", "ab c"],
            "tokenizer.ggml.eos_token_id": 6,
            "general.numbers": [1, 2, 3],
        },
        {},
    )
    path.write_bytes(whole)
    assert tokenized(tokenizer, path, b"abc ab").stdout == b"5 3 4 same\n"
    assert tokenized(tokenizer, path, b"abd").stdout == b"none\n"
    assert tokenized(tokenizer, tmp_path / "none.gguf").returncode == 11
    codes = set()
    for n in range(250):
        changed = bytearray(whole)
        if n % 2:
            del changed[int(rng.integers(0, len(whole))) :]
        for _ in range(int(rng.integers(0, 4)) if n % 2 else 3):
            if changed:
                changed[int(rng.integers(0, len(changed)))] = int(rng.choice([0, 1, 127, 255, rng.integers(0, 256)]))
        path.write_bytes(bytes(changed))
        done = tokenized(tokenizer, path, b"abc ab")
        assert done.returncode in (0, 11, 12, 13, 14) and not done.stderr, done.stderr.decode()
        codes.add(done.returncode)
    assert {0, 12, 13} <= codes
    path.write_bytes(whole.replace(b"gpt-2", b"other"))
    assert tokenized(tokenizer, path).returncode == 13


PIECES = {
    "gpt-2": ["It", "'s", " ", " two", "'", "S", " words", " 1234", " №", "5", "\n", "\n", "Ün", "\u3000", "漢字", "!?", " "],
    "llama-bpe": ["It", "'s", " ", " two", "'S", " words", " ", "123", "4", " №", "5", "\n\n", "Ün", "\u3000漢字", "!?", " "],
    "qwen2": ["It", "'s", " ", " two", "'S", " words", " ", "1", "2", "3", "4", " №", "5", "\n\n", "Ün", "\u3000漢字", "!?", " "],
    "smollm": ["It", "'s", " ", " two", "'", "S", " words", " ", "1", "2", "3", "4", " №", "5", "\n", "\n", "Ün", "\u3000", "漢字", "!?", " "],
}  # fmt: skip
"""The pieces of one text, by the name of the cuts in files."""


@pytest.mark.parametrize("pre", PIECES)
def test_pieces(pre: str, tokenizer: Path, tmp_path: Path) -> None:
    """Tokens do not reach over the ends of pieces: of a vocabulary with every pair of neighbours, those in different pieces stay two."""
    letters = script().letters_of_bytes()
    words, merges = [letters[b] for b in range(256)], []
    pieces, ends = PIECES[pre], set()
    for piece in pieces:  # each piece is joined from its first byte on
        data = piece.encode()
        for n in range(1, len(data)):
            left, right = letters_of_part(letters, data[:n]), letters[data[n]]
            if left + right not in words:
                words.append(left + right)
                merges.append(f"{left} {right}")
    for a, b in pairwise(pieces):
        ends.add((letters_of_part(letters, a.encode()), letters_of_part(letters, b.encode())))
    for a, b in sorted(ends):  # and would be joined with the next one
        if a + b not in words:
            words.append(a + b)
            merges.append(f"{a} {b}")
    metadata = {"model": "gpt2", "pre": pre, "tokens": words, "merges": merges}
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf({f"tokenizer.ggml.{k}": v for k, v in metadata.items()}, {}))
    done = tokenized(tokenizer, path, "".join(pieces).encode())
    *tokens, verdict = done.stdout.decode().split()
    assert verdict == "same" and [words[int(t)] for t in tokens] == [
        letters_of_part(letters, p.encode()) for p in pieces
    ]


def letters_of_part(letters: dict[int, str], data: bytes) -> str:
    """Bytes as vocabularies write them."""
    return "".join(letters[b] for b in data)


SENTENCES = ["the cat sat", "  two  spaces", "naïve \u2581 mark", "日本 x\n", "cats that", "t"]
WORDS = {"\u2581": -9, "t": -10, "h": -11, "e": -12, "c": -13, "a": -14, "s": -15, "\u2581t": -1, "at": -2, "he": -3, "\u2581the": -4, "\u2581c": -5, "cat": -5.5, "\u2581cat": -6, "\u2581\u2581": -7, "ï": -16, "n": -17}  # fmt: skip
"""Tokens of SentencePiece with their scores."""
NAMED = ["<unk>", "<s>", "</s>", *(f"<0x{n:02X}>" for n in range(256))]


def sentence_file(**others: Any) -> bytes:
    """A file with these tokens behind those of bytes."""
    metadata = {
        "scores": [0.0] * len(NAMED) + [float(s) for s in WORDS.values()],
        "token_type": [2, 3, 3, *[6] * 256, *[1] * len(WORDS)],
        "tokens": [*NAMED, *WORDS],
        "model": "llama",
        "pre": "default",
        "bos_token_id": 1,
        **others,
    }
    return gguf({f"tokenizer.ggml.{k}": v for k, v in metadata.items()}, {})


def sentence_tokens(text: str) -> list[int]:
    """Tokens by the definition: of all neighbours that are a token together, those with the best score are joined, the first of equal ones."""
    parts = list("\u2581" + text.replace(" ", "\u2581"))
    while True:
        pairs = [(-WORDS[a + b], n) for n, (a, b) in enumerate(pairwise(parts)) if a + b in WORDS]
        if not pairs:
            break
        _, n = min(pairs)
        parts[n : n + 2] = [parts[n] + parts[n + 1]]
    numbers = {w: len(NAMED) + n for n, w in enumerate(WORDS)}
    return [t for p in parts for t in ([numbers[p]] if p in numbers else [3 + b for b in p.encode()])]


def test_sentences(tokenizer: Path, tmp_path: Path) -> None:
    """Those of SentencePiece; what has no token has those of its bytes."""
    path = tmp_path / "m.gguf"
    path.write_bytes(sentence_file())
    lines = tokenized(tokenizer, path, *(t.encode() for t in SENTENCES)).stdout.decode().splitlines()
    assert [[int(t) for t in line.split()[:-1]] for line in lines] == [sentence_tokens(t) for t in SENTENCES]
    path.write_bytes(sentence_file(add_space_prefix=False))
    assert tokenized(tokenizer, path, b"cat").stdout.split()[0] == b"%d" % (len(NAMED) + [*WORDS].index("cat"))


def test_damaged_files_of_sentences(tokenizer: Path, tmp_path: Path) -> None:
    path, rng, whole, codes = tmp_path / "m.gguf", np.random.default_rng(3), sentence_file(), set()
    path.write_bytes(sentence_file(scores=[float("nan")] * (len(NAMED) + len(WORDS))))
    assert tokenized(tokenizer, path).returncode == 12
    path.write_bytes(sentence_file(scores=[1.0]))
    assert tokenized(tokenizer, path).returncode == 12
    for _ in range(150):
        changed = bytearray(whole)
        for _ in range(4):
            changed[int(rng.integers(0, len(changed)))] = int(rng.choice([0, 1, 127, 255, rng.integers(0, 256)]))
        path.write_bytes(bytes(changed))
        done = tokenized(tokenizer, path, b"the cat")
        assert done.returncode in (0, 11, 12, 13, 14) and not done.stderr, done.stderr.decode()
        codes.add(done.returncode)
    assert {0, 12} <= codes


def test_kinds_of_characters_are_those_of_unicode() -> None:
    characters = script("characters")
    table = (FOLDER / "characters.c").read_text()
    if f"Unicode {unicodedata.unidata_version} " not in table:
        pytest.skip("the table is of another version of Unicode")
    assert characters.text() in table


def counts(folder: Path, temperature: float, top_k: int, top_p: float, seed: int = 1) -> list[int]:
    """How often each token of five is chosen in 10,000 draws."""
    values = {"TEMPERATURE": temperature, "TOP_K": top_k, "TOP_P": top_p, "SEED": seed}
    (folder / "main.c").write_text(SAMPLE)
    flags = [*SANITIZED, *(f"-D{name}={value}" for name, value in values.items())]
    compile_c(folder, "main", "main.c", str(FOLDER / "sampling.c"), "-lm", flags=flags)
    return [int(n) for n in run(folder / "main").stdout.split()]


def test_sampling(tmp_path: Path) -> None:
    logits = np.array([1.0, 3, 3, -2, 2])
    assert counts(tmp_path, 0, 0, 1) == [0, 10000, 0, 0, 0]  # of equal ones, the first
    assert counts(tmp_path, 1, 1, 1) == [0, 10000, 0, 0, 0]
    for temperature in (1.0, 0.5):
        p = np.exp(logits / temperature)
        assert np.abs(np.array(counts(tmp_path, temperature, 0, 1)) / 1e4 - p / p.sum()).max() < 0.02
    assert np.flatnonzero(counts(tmp_path, 1, 3, 1)).tolist() == [1, 2, 4]
    assert np.flatnonzero(counts(tmp_path, 1, 0, 0.5)).tolist() == [1, 2]
    assert counts(tmp_path, 1, 0, 1, 2) == counts(tmp_path, 1, 0, 1, 2) != counts(tmp_path, 1, 0, 1, 3)


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The program, and the network in Python."""
    folder = tmp_path_factory.mktemp("chat")
    module, weights = irtool.from_gguf(MODEL)
    artifact = irtool.build(module, weights, name="model", out_dir=folder)
    sources = [*SOURCES, *(str(FOLDER / f"{n}.c") for n in ("chat", "sampling"))]
    flags = [*STRICT, f"-I{FOLDER}", f"-I{folder}", f"-Wl,-rpath,{folder}"]
    compile_c(folder, "chat", *sources, "model.so", "-lm", flags=flags)
    return folder, artifact


def written(folder: Path, *options: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The run of the program."""
    command = [folder / "chat", "-m", MODEL, "-w", folder / "model.bin", *options]
    return subprocess.run(command, input=text, capture_output=True, check=False)


def test_the_program_writes_the_tokens_of_the_network(chat: tuple[Path, Any], tokenizer: Path) -> None:
    folder, artifact = chat
    words, _ = vocabulary()
    letters = {letter: b for b, letter in script().letters_of_bytes().items()}
    prompt = "A pass"
    *tokens, _ = tokenized(tokenizer, MODEL, prompt.encode()).stdout.decode().split()
    net, row, reply = artifact.instance(), [len(words) - 1, *map(int, tokens)], b""
    for _ in range(40):
        row = [int(np.asarray(net.step(ids=np.array(row, "int32"))).argmax())]
        reply += bytes(letters[c] for c in words[row[0]])
    assert written(folder, "-t", "0", "-n", "40", prompt).stdout == prompt.encode() + reply + b"\n"
    first, again, other = (written(folder, "-s", s, "-n", "40", prompt).stdout for s in "112")
    assert first == again != other


def test_a_full_context_and_wrong_options(chat: tuple[Path, Any]) -> None:
    folder, _ = chat
    done = written(folder, "-t", "0", "-n", "1000", text=b"A pass\nA pass\n")
    first, second = done.stderr.splitlines()
    assert done.returncode == 0 and first == second == b"the context is full: forgotten"
    done = written(folder, "-n", "1000", "-t", "0", "A pass")
    assert done.returncode == 1 and done.stderr == b"the context is full\n"
    for options in (["-n"], ["-x", "1"], ["-t", "hot"], ["a", "b"], ["-p", "2"]):
        assert written(folder, *options).returncode == 2
    done = subprocess.run([folder / "chat", "-m", FOLDER / "train.py"], stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1 and b"damaged, or no GGUF file" in done.stderr


def test_the_file_is_small_and_whole() -> None:
    assert MODEL.stat().st_size < 2_000_000
    tensors = read_gguf(MODEL)
    assert sum(np.asarray(t).size for t in tensors.values()) > 500_000

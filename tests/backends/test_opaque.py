"""Constants that gcc 12 would copy wrongly stay hidden from it, and no others."""

import random
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.c.opaque import is_copied_wrongly

WORDS = (0, 1, 2**64 - 1, 2**63, 0x3F8000003F800000, 0x0101010101010101)


def draw(rng: random.Random) -> np.ndarray:
    """Up to 32 words in runs of equal ones."""
    words: list[int] = []
    for _ in range(rng.randint(2, 8)):
        words += [rng.choice(WORDS)] * rng.choice((1, 1, 2, 3, 7))
    return np.array(words[: rng.choice((2, 3, 4, 6, 8, 16, 32))], np.uint64)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_what_the_compiler_copies_wrongly_is_known(tmp_path: Path) -> None:
    rng = random.Random(1)
    drawn = [draw(rng) for _ in range(400)]
    lines = ["#include <stdint.h>", "#include <stdio.h>", "#include <string.h>"]
    tests = []
    for i, words in enumerate(drawn):
        n = len(words)
        lines += [
            f"static const uint64_t c{i}[{n}] = {{{', '.join(f'UINT64_C({w})' for w in words.tolist())}}};",
            f"void __attribute__((noinline)) copy{i}(uint64_t *to) {{ memcpy(to, c{i}, sizeof c{i}); }}",
        ]
        tests.append(
            f"  copy{i}(room);\n  for (wrong = k = 0; k < {n}; k++) wrong |= room[k] != ((const volatile uint64_t *)c{i})[k];\n"
            f'  if (wrong) puts("{i}");'
        )
    lines += ["int main(void) {", "  static uint64_t room[32];", "  int wrong, k;", *tests, "  return 0;", "}"]
    source = tmp_path / "copies.c"
    source.write_text("\n".join(lines))
    subprocess.run(["cc", "-O2", "-march=native", source, "-o", tmp_path / "copies"], check=True)
    printed = subprocess.run([tmp_path / "copies"], capture_output=True, text=True, check=True).stdout
    assert [i for i in map(int, printed.split()) if not is_copied_wrongly(drawn[i])] == []


@pytest.mark.parametrize(
    ("data", "wrongly"),
    [
        (np.array([1, 1, 1, 0], np.int64), True),
        (np.array([1, 1, 0], np.int64), True),
        (np.array([1, 0, 0, 0], np.int64), False),
        (np.array([1, 1, 1, 1, 0, 0], np.float32), True),
        (np.array([0.5, 1, 1, 1, 1, 0, 0], np.float32), True),
        (np.array([1, 1, 1, 1, 0, 1], np.float32), False),
        (np.array([True] * 17 + [False] * 8), True),
        (np.zeros(64, np.int8), False),
        (np.full(64, -1, np.int8), False),
        (np.ones(64, np.float16), False),
        (np.zeros((0, 3), np.int64), False),
        (np.array(1, np.int64), False),
    ],
)
def test_which_constants_are_hidden(data: np.ndarray, wrongly: bool) -> None:
    assert is_copied_wrongly(data) == wrongly


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("weights", ["inline", "split"])
def test_constants_that_come_out_are_those_that_went_in(weights: str) -> None:
    """As results, and as what kernels copy from."""
    rng = random.Random(2)
    drawn = [draw(rng) for _ in range(40)]
    forms = [words.view(d) for words, d in zip(drawn, 10 * ("int64", "int32", "uint8", "float64"), strict=True)]
    names = [f"%c{i}" for i in range(len(forms))]
    parameters = ", ".join(f"{n}: Tensor[({a.size}), {a.dtype}]" for n, a in zip(names, forms, strict=True))
    joined = [n for n, a in zip(names, forms, strict=True) if a.dtype == np.int64]
    results = ", ".join([*names, *(f"concatenate((%x, {n}))" for n in joined)])
    module = irtool.parse(f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(1), int64], {parameters}) {{ ({results}) }}')
    params = {n[1:]: a for n, a in zip(names, forms, strict=True)}
    flags = {"mcpu": "native", "cflags": "-flto", "math": "strict"}  # denormal numbers stay
    built = irtool.build(module, params=params, weights=weights, **flags)
    one = np.ones(1, np.int64)
    expected = [*forms, *(np.concatenate([one, a]) for a in forms if a.dtype == np.int64)]
    for actual, value in zip(built.run({"x": one}), expected, strict=True):
        np.testing.assert_array_equal(np.asarray(actual), value)

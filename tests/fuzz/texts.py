"""Mutated texts: nothing but `IrError` leaves reading, printing and inference, and what is accepted reads back as the same.

`python -m tests.fuzz.texts --seed 0 --count 20000` draws as many texts from the samples and goldens, each with a few words
exchanged, removed or doubled, and says which of them fail; the same seed draws the same texts.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import irtool
from irtool.diagnostics import InternalError, IrError, render

ROOT = Path(__file__).parents[2]
WORDS = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%@]?[A-Za-z_][\w.]*|-?\d[\w.]*|\s+|.', re.DOTALL)
LONGEST = 1500
"""Characters of a text that is mutated: what is small is tried more often."""
PIECES = (
    *("bool", "int4", "uint1", "int3\u0663", "float7", "bfloat16", "float8", "int256", "handle", "custom[posites2]32"),
    *(
        "0",
        "-1",
        "1.5",
        "nan",
        "inf",
        "inff",
        "1e999",
        "2147483648",
        "9223372036854775807",
        "99999999999999999999",
        "1i64",
    ),
    *("?", "()", "[]", "[[]]", "{}", '""', '"\\ud800"', '"\\xff"', "None", "True", "(%x,)", "%0", "%x", "@main", "_"),
    *("VirtualDevice(device_type=1)", "Target()", "Tensor[(), float32]", "Tensor[(0, 2), int64]", "less_equal", "add"),
    *("axis=-1", 'dtype=""', "shape=[-3]", "virtual_device=3", "ref(%x)", "fn () { 1 }", "meta[relay.Constant][0]"),
)


def pool() -> list[str]:
    """The texts that are mutated."""
    files = [*sorted(ROOT.glob("samples/*.relay")), *sorted(ROOT.glob("tests/golden/**/*.relay"))]
    found = [path.read_text("utf-8", "surrogateescape") for path in files]
    return [text for text in found if len(text) <= LONGEST and "#[version" in text]


def mutate(words: list[str], others: list[str], draw: random.Random) -> str:
    """A text with one to three words changed."""
    words = list(words)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        at = draw.randrange(len(words))
        kind = draw.randrange(6)
        if kind == 0:
            del words[at : at + draw.choice((1, 1, 2, 5))]
            words = words or ["1"]
        elif kind == 1:
            words.insert(at, words[at])
        elif kind == 2:
            words[at] = draw.choice(others)
        elif kind == 3:
            to = draw.randrange(len(words))
            words[at], words[to] = words[to], words[at]
        else:
            words[at] = draw.choice(PIECES)
    return "".join(words)


def check(text: str) -> str:
    """What is wrong with how a text is taken; empty if nothing is."""
    try:
        module = irtool.parse(text)
        printed = irtool.to_text(module)
        if irtool.to_text(irtool.parse(printed)) != printed:
            return "the text of what was read reads back as another"
        typed = irtool.to_text(irtool.infer_types(module))
    except InternalError as error:
        return f"an internal error: {error}"
    except IrError as error:
        render(error)
        return "" if "printed" not in locals() or _reads(printed) else f"what was printed is refused: {error}"
    except Exception as error:  # noqa: BLE001 - any other kind is what is looked for
        return f"{type(error).__name__}: {error}"
    try:
        again = irtool.to_text(irtool.infer_types(irtool.parse(typed)))
    except IrError as error:
        return f"the text with types is refused: {error}"
    return "" if again == typed else "the text with types reads back as another"


def _reads(text: str) -> bool:
    try:
        irtool.parse(text)
    except IrError:
        return False
    return True


def failures(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """The texts that fail among `count` drawn from `seed`, each with what is wrong."""
    draw = random.Random(seed)
    texts = [WORDS.findall(text) for text in pool()]
    others = sorted({word for words in texts for word in words})
    for _ in range(count):
        text = mutate(draw.choice(texts), others, draw)
        wrong = check(text)
        if wrong:
            yield text, wrong


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.texts", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20_000)
    given = parser.parse_args()
    start, found = time.monotonic(), 0
    for text, wrong in failures(given.seed, given.count):
        found += 1
        print(f"---- {wrong}\n{text}\n")
    print(f"{given.count} texts from seed {given.seed} in {time.monotonic() - start:.0f} s: {found} fail")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

"""The programs of `samples/*.c` around networks that keep their states, or work on data: what they print, built as their first comments say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.command_line import irtool
from tests.driver.programs import compile_c, run

pytestmark = pytest.mark.promise("states")

SAMPLES = Path(__file__).parents[2] / "samples"
PRINTED = {
    "beam": "1: t 0.550 o 0.450\n2: on 0.405 ta 0.220 t. 0.165\n3: on. 0.405 t.. 0.165 tat 0.132\non\n",
    "speller": "abracadabra\n",
    "treelstm": "((the film) good): 0.46\n"
    "((the bad) film): -0.46\n"
    "((hardly bad) good): 0.46\n"
    "(hardly (bad good)): 0.00\n"
    "((hardly (bad (good film))) bad): -0.46\n"
    "a tree that is too large: refused\n",
    "spotter": "stream 0, step 21: the tone begins\n"
    "stream 0, step 31: it ends\n"
    "stream 1, step 36: the tone begins\n"
    "stream 1, step 46: it ends\n",
}


@pytest.mark.parametrize("name", PRINTED)
def test_programs_around_networks_with_states(name: str, tmp_path: Path) -> None:
    source = (SAMPLES / f"{name}.c").read_text()
    line = re.search(r"irtool (build .*)", source)
    assert line is not None
    words = [str(SAMPLES.parent / w) if w.startswith("samples/") else w for w in shlex.split(line[1])]
    words[words.index("-o") + 1] = str(tmp_path)
    code, _, messages = irtool(*words, "--no-cache")
    assert code == 0, messages
    (tmp_path / "main.c").write_text(source)
    assert run(compile_c(tmp_path, "main", "main.c", f"{name}.c")).stdout == PRINTED[name]


def test_every_program_is_run() -> None:
    assert {p.stem for p in SAMPLES.glob("*.c")} == PRINTED.keys()

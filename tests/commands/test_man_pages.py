"""Manual pages: each command has one, groff reads it without a warning, and the options are in it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from irtool.commands.man_pages import _text, pages
from tests.commands.options import commands

PAGES = pages()


def rendered(page: str) -> str:
    command = ["groff", "-man", "-Tutf8", "-P-cbou", "-rLL=200n", "-ww", "-Kutf8"]
    done = subprocess.run(command, input=page, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_each_command_has_a_page() -> None:
    assert sorted(PAGES) == sorted(["irtool.1", *(f"irtool-{name}.1" for name in commands() if name)])


@pytest.mark.parametrize("file", sorted(PAGES))
def test_groff_reads_it(file: str) -> None:
    if shutil.which("groff") is None:
        pytest.skip("no groff")
    text = rendered(PAGES[file])
    assert "SYNOPSIS" in text and "EXIT STATUS" in text
    name = file.removesuffix(".1").removeprefix("irtool").removeprefix("-")
    for option in (o for p in commands()[name].params for o in p.opts if o.startswith("--")):
        assert option in text, f"{file}: {option}"


@pytest.mark.parametrize(
    ("line", "roff"),
    [(".dot", "\\&.dot"), ("it's", "it\\(aqs"), ("a\\b", "a\\eb"), ("--name", "\\-\\-name"), ("`x`", "\\(gax\\(ga")],
)
def test_text_that_roff_would_read_otherwise(line: str, roff: str) -> None:
    assert _text(line) == roff

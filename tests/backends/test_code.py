"""Statements of C as a tree: what is printed of it, and that the C writer edits no text that it has written."""

import ast
from pathlib import Path

import irtool
from irtool.backends.c.code import CodeBuilder, Directive, print_code

ROOM = Path(irtool.__file__).parent / "backends" / "c"
QUOTES = {"banner.py", "build_file.py", "pool_flags.py"}
"""Files that put words of the user into a file for another program, or read them from flags."""


def test_a_bare_block_that_is_all_there_is_loses_its_braces():
    code = CodeBuilder()
    code.open("for (;;)")
    code.open()
    code.line("int x;")
    code.open()
    code.line("int y;")
    code.close()
    code.close()
    code.close()
    assert print_code(code.items) == ["  for (;;) {", "    int x;", "    {", "      int y;", "    }", "  }"]


def test_branches_and_lines_of_the_preprocessor():
    code = CodeBuilder()
    code.open("if (c)")
    code.open()
    code.line("a();")
    code.close()
    code.part("else")
    code.line(Directive("#ifdef X"))
    code.line("b();")
    code.close()
    assert print_code(code.items) == ["  if (c) {", "    a();", "  } else {", "#ifdef X", "    b();", "  }"]


def test_blocks_may_be_nested_deeply():
    code = CodeBuilder()
    for _ in range(20_000):
        code.open("for (;;)")
    assert len(print_code(code.items)) == 40_000


def test_no_generated_text_is_edited() -> None:
    """No regular expressions and no replacements: what is to be known of a text is known where it is written."""
    edits = []
    for path in sorted(p for p in ROOM.glob("*.py") if p.name not in QUOTES):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            imports = isinstance(node, ast.Import) and any(a.name == "re" for a in node.names)
            if imports or (isinstance(node, ast.Attribute) and node.attr in ("replace", "sub", "partition")):
                edits.append(f"{path.name}:{node.lineno}: {ast.unparse(node)}")
    assert not edits, "\n".join(edits)

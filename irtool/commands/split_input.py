"""`--split-input-file` and `--verify-diagnostics`: several modules in one text, and the errors that they must have.

The text is split at lines `// -----`, and errors are expected by comments `// ERROR: …`, as in golden files; see
`docs/golden-tests.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from ..diagnostics import Diagnostic, InternalError, IrError, ToolError, UsageError, render
from .grouped import grouped
from .mistakes import BadValue, ClashingOptions, UnmetExpectation

if TYPE_CHECKING:
    from .goldens.cases import Part
    from .input_module import InputModule

SEPARATOR = "// -----\n"


@dataclass(frozen=True)
class SplitChoice:
    """The two options of a command line."""

    split_input_file: bool = False
    verify_diagnostics: bool = False

    def __bool__(self) -> bool:
        return self.split_input_file or self.verify_diagnostics

    def parts(self, input_file: InputModule) -> list[Expected]:
        """The modules of a file, with the errors that they must have: the file itself without these options.

        Raises IrError for a model with one of them, and for mistakes in comments.
        """
        from .goldens.cases import part_of, split_parts
        from .input_module import RelayText

        if not self:
            return [Expected(input_file)]
        if not isinstance(input_file, RelayText):
            option = "--split-input-file" if self.split_input_file else "--verify-diagnostics"
            raise UsageError(f"{option} is for Relay text, and {input_file.name} is a model", code=ClashingOptions)
        lines = input_file.text.split("\n")
        if not self.split_input_file:
            return [self._expected(part_of(lines, "//"), input_file)]
        parts = split_parts(lines, "//")
        if len(parts) > 1 and not parts[0].has_text("//"):
            parts = parts[1:]  # comments about the file
        return [self._expected(part, input_file) for part in parts]

    def _expected(self, part: Part, input_file: InputModule) -> Expected:
        from .goldens.expected_errors import read_expectations
        from .input_module import RelayText

        name = input_file.name
        module_text = RelayText(part.text, name)
        if not self.verify_diagnostics:
            return Expected(module_text)
        expectations, mistakes = read_expectations(part.directives, part.lines, part.first, "//")
        wrong = sorted([*part.mistakes, *mistakes], key=lambda m: m.line)
        if wrong:
            raise IrError([Diagnostic(m.message, filename=f"{name}:{m.line}", code=BadValue) for m in wrong])
        return Expected(module_text, tuple(expectations), True)


@dataclass(frozen=True)
class Expected:
    """A module's text and the errors that it must have; `is_verified` is False where nothing is said of them."""

    input_file: InputModule
    errors: tuple = ()
    is_verified: bool = False

    def judged(self, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
        """Of a command's diagnostics those that are not expected, and an error for each expected one that is missing."""
        if not self.is_verified:
            return list(diagnostics)
        from .goldens.expected_errors import error_differences, read_reported

        name = self.input_file.name
        errors = [d for d in diagnostics if d.level == "error"]
        reported = read_reported(render(errors), name)
        return [d for d in diagnostics if d.level != "error"] + [
            Diagnostic(difference, filename=f"{name}:{line}" if line else name, code=UnmetExpectation)
            for line, difference in error_differences(self.errors, reported)
        ]


def transform_parts(parts: Sequence[Expected], transform: Callable[[InputModule], str]) -> str:
    """The texts that `transform` makes of the parts, with a line `// -----` between them; of a part with errors, nothing.

    Raises IrError for all errors of all parts, after the last one.
    """
    texts: list[str] = []
    problems: list[Diagnostic] = []
    for part in parts:
        errors: Sequence[Diagnostic] = ()
        try:
            texts.append(transform(part.input_file))
        except (UsageError, InternalError, ToolError):
            raise
        except IrError as error:
            errors = [d if d.location else replace(d, filename=part.input_file.name) for d in error.diagnostics]
        problems += part.judged(errors)
    if any(d.level == "error" for d in problems):
        raise IrError(problems)
    return SEPARATOR.join(texts)


split_options = grouped(
    "split",
    SplitChoice,
    click.option(
        "--split-input-file",
        is_flag=True,
        help="Take the parts of a text between lines `// -----` as modules of their own.",
    ),
    click.option(
        "--verify-diagnostics",
        is_flag=True,
        help="Expect the errors that comments `// ERROR: WORDS` name, on their lines, and no other ones; see `irtool test`.",
    ),
)
"""The two options, as one `SplitChoice`, `split`."""

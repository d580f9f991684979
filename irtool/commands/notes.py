"""Notes of a command beside its result, on standard error: one line behind `note:`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..diagnostics import ConversionWarning

if TYPE_CHECKING:
    from ..ir import Module


def say(sentence: str) -> None:
    """Prints a note, also if the command is to be quiet: notes list assumptions of a result."""
    sys.stdout.flush()
    print(f"note: {sentence}", file=sys.stderr)


def say_random(names: Sequence[str], total: int, seed: int) -> None:
    """Says which of a function's parameters have random values."""
    from ..interp.random_inputs import name_random

    if names:
        say(name_random(names, total, (seed,)))


def say_constants(module: Module, how: str, seed: int = 0) -> str:
    """Says how many constants, whose data is missing, have something in its place; gives the sentence, if there is one."""
    from ..passes.core.bind import count_missing_constants

    count = count_missing_constants(module) if how in ("zeros", "random") else 0
    if not count:
        return ""
    are = f"constant{' is' if count == 1 else 's are'}"
    sentence = f"{count} {are} " + (f"random (seed {seed})" if how == "random" else "zero") + ": the data was cut off"
    say(sentence)
    return sentence


@contextmanager
def conversions_as_notes(notes: list[str] | None = None) -> Iterator[None]:
    """Inside, each conversion of a value is a note, once; `notes` gets the lines as well."""
    seen_messages: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, ConversionWarning):
            return before(message, category, *where, **more)
        if str(message) not in seen_messages:
            seen_messages.add(str(message))
            say(str(message))
            if notes is not None:
                notes.append(f"note: {message}")
        return None

    with warnings.catch_warnings():
        before = warnings.showwarning
        warnings.simplefilter("always", ConversionWarning)
        warnings.showwarning = show
        yield

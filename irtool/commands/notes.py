"""What a command says beside its result, on standard error: one line behind `note:`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..diagnostics import ConversionWarning


def say(sentence: str) -> None:
    """Says something in a note."""
    sys.stdout.flush()
    print(f"note: {sentence}", file=sys.stderr)


@contextmanager
def conversions_as_notes(said: list[str] | None = None) -> Iterator[None]:
    """Inside, each conversion of a value is a note, once; `said` gets the lines as well."""
    told: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, ConversionWarning):
            return before(message, category, *where, **more)
        if str(message) not in told:
            told.add(str(message))
            say(str(message))
            if said is not None:
                said.append(f"note: {message}")
        return None

    with warnings.catch_warnings():
        before = warnings.showwarning
        warnings.simplefilter("always", ConversionWarning)
        warnings.showwarning = show
        yield

"""REQUIRES lines: features of the machine and the installation, which `irtool doctor` finds as well."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping

from ...did_you_mean import nearest


def features() -> dict[str, Callable[[], bool]]:
    """The features of backends and extras, each with a test for it."""
    from ...backends.base import backends
    from ..examination import extra_features

    known_features: dict[str, Callable[[], bool]] = {}
    for cls in dict.fromkeys(backends):
        known_features |= cls().features()
    return known_features | extra_features()


def unmet(required: Iterable[str]) -> tuple[list[str], str]:
    """The features that are missing, and an error about unknown ones, empty if there is no error."""
    absent = []
    for name in required:
        is_here = _look(_folded(name))
        if is_here is None:
            known = features()
            hint = nearest(name, known) or f"known are {', '.join(known)}"
            return [], f"unknown feature {name} ({hint})"
        if not is_here:
            absent.append(name)
    return absent, ""


@functools.cache
def _look(folded: str) -> bool | None:
    """True if a feature is present; None if the name is unknown."""
    known: Mapping[str, Callable[[], bool]] = {_folded(name): test for name, test in features().items()}
    return known[folded]() if folded in known else None


def _folded(name: str) -> str:
    """The name as it is compared: `AVX-512F` and `avx512f` are one."""
    return "".join(c for c in name.casefold() if c not in "-_. ")

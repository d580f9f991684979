"""What several files of this folder ask for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def keeps_denormals() -> Iterator[None]:
    """Compiles C whose runs do not take denormal numbers for zeros: own functions are right for these as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFLAGS", "-DIRT_KEEP_DENORMALS")
        yield

"""Libraries take over what `takers.txt` says, and nothing beside it."""

from __future__ import annotations

import pytest

from irtool.passes.partition.libraries import libraries
from tests.passes.takers import expected, line

KNOWN = expected()


@pytest.mark.parametrize("known", KNOWN, ids=[k.rpartition(" | ")[0] for k in KNOWN])
def test_libraries_take_what_they_are_known_to(known: str) -> None:
    library, layer, _ = known.split(" | ")
    assert line(library, layer) == known, "python -m tests.passes.takers writes them anew"


def test_every_library_takes_something() -> None:
    assert {k.split(" | ")[0] for k in KNOWN} >= set(libraries()) - {"cmsis-nn"}

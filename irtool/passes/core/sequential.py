"""Sequential: a pass built from any way of naming passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.module import describe
from .base import PassList, make_info
from .resolve import resolve


@dataclass(frozen=True, init=False)
class Sequential(PassList):
    """Given passes one after the other, as a pass with a level, a name and prerequisites of its own.

    `Sequential([FoldConstant(), "FuseOps{fuse_opt_level=2}"], opt_level=2, name="mine")(module)`: passes, names and
    pipeline texts. Each pass runs only where the context enables it (its level, `required_pass`, `disabled_pass`) and after
    what it requires; within another sequence the same goes for the whole, by its own `opt_level` and `name`.
    """

    def __init__(
        self,
        passes: Sequence[Any] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> None:
        if passes is not None and not isinstance(passes, str | list | tuple):
            raise TypeError(f"Sequential takes a list of passes, not {describe(passes)}")
        object.__setattr__(self, "items", tuple(resolve(passes or ())))
        object.__setattr__(self, "own_info", make_info(opt_level, name, required, traceable, True))

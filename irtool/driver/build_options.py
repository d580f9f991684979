"""The arguments of a build, as one value."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from ..diagnostics import UsageError
from ..ir.module import describe
from ..ir.target import Target
from ..passes.core.context import PassContext
from .options import Options, choose_options, default_target
from .precision import Calibration
from .tuned_table import with_table

_FLAGS = (
    "mcpu",
    "vector",
    "openmp",
    "math",
    "opt",
    "api",
    "weights",
    "verify_weights",
    "testbench",
    "cc",
    "cflags",
    "sanitize",
    "build_file",
    "bindings",
    "board",
    "profile",
    "ram_limit",
    "flash_limit",
)
"""Flags of the backend that have a field of their own; None leaves each as the target says."""


@dataclass(frozen=True, eq=False)
class BuildOptions:
    """All arguments of `build` beside the module; `build` documents each field."""

    params: Mapping[str, Any] | None = None
    target: str | Mapping[str, Any] | Target | None = None
    opt_level: int | None = None
    out_dir: str | os.PathLike[str] | None = None
    _: KW_ONLY
    name: str = "model"
    entry: str | Sequence[str] = "main"
    emit: str = ""
    kernel: str = ""
    mcpu: str | None = None
    vector: bool | str | None = None
    openmp: bool | None = None
    math: str | None = None
    opt: str | None = None
    api: str | None = None
    weights: str | None = None
    verify_weights: bool | None = None
    testbench: bool | None = None
    cc: str | None = None
    cflags: str | None = None
    sanitize: str | Sequence[str] | None = None
    build_file: str | Sequence[str] | None = None
    bindings: str | Sequence[str] | None = None
    board: str | None = None
    profile: str | None = None
    ram_limit: str | int | None = None
    flash_limit: str | int | None = None
    flags: Mapping[str, Any] | None = None
    inputs: Sequence[str] | None = None
    shapes: Mapping[str, Sequence[int | str]] | None = None
    dims: Mapping[str, int | str] | None = None
    states: Mapping[str, str] | str | None = None
    cache_dtype: str = ""
    cache: bool = False
    precision: str = "float32"
    calibration: Calibration | None = None
    passes: str | Sequence[Any] = ()
    required_pass: Iterable[str] | None = None
    disabled_pass: Iterable[str] | None = None
    config: Mapping[str, Any] | None = None
    schedule: str = ""
    tuned: str | os.PathLike[str] | None = None
    instruments: Iterable[Any] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.params, Mapping | None):
            raise UsageError(
                f"params are arrays by name, not {describe(self.params)}",
                help="irtool.build(module, params, target); relay.build(module, target, params=…) has TVM's order",
            )

    def checked(self) -> tuple[Options, list[str]]:
        """The options of a session, and the notes for the report. Settings of the entered context are the defaults.
        Raises UsageError for a wrong option."""
        governing = PassContext.entered()
        target = self.target
        if target is None:
            target = governing.target if governing is not None and governing.target is not None else ""
        options = choose_options(
            target or default_target(self.emit),
            (self.flags or {}, {name: getattr(self, name) for name in _FLAGS}),
            governing,
            opt_level=self.opt_level,
            required_pass=self.required_pass,
            disabled_pass=self.disabled_pass,
            config=self.config,
            name=self.name,
            entries=(self.entry,) if isinstance(self.entry, str) else tuple(self.entry),
            emit=self.emit,
            kernel=self.kernel,
            schedule=self.schedule,
            precision=self.precision,
            cache_dtype=self.cache_dtype,
        )
        return with_table(options, self.tuned)


BuildOptions.__init__.__qualname__ = (
    "build"  # Python's messages about wrong arguments name the function that users called
)

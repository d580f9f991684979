"""What a build was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..backends.c.build_file import KINDS
from ..backends.c.compiler import Compiler, split_words
from ..backends.c.names import Names
from ..diagnostics import UsageError, nearest

_CHOICES = {
    "emit": ("tir", "c", "obj", "so", "exe", "mlf"),
    "math": ("fast", "strict"),
    "api": ("flat", "tvm"),
    "weights": ("auto", "inline", "split", "file"),
}


SANITIZERS = ("address", "undefined", "leak", "thread", "memory")
"""What `sanitize` may name; a compiler need not have all of them."""


@dataclass(frozen=True)
class Options:
    """The options of `build`, checked; see there for what each means. `entries`: the function of `NAME_run` first.

    `config` has the keys and values of the pass context, sorted by key.
    """

    target: str = "c"
    opt_level: int = 3
    name: str = "model"
    entries: tuple[str, ...] = ("main",)
    emit: str = "so"
    mcpu: str = "native"
    vector: bool = True
    openmp: bool = False
    math: str = "fast"
    api: str = "flat"
    weights: str = "auto"
    verify_weights: bool = True
    testbench: bool = False
    cc: str = ""
    cflags: str = ""
    sanitize: tuple[str, ...] = ()
    build_files: tuple[str, ...] = ()
    required_pass: tuple[str, ...] = ()
    disabled_pass: tuple[str, ...] = ()
    config: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        for option, choices in _CHOICES.items():
            value = getattr(self, option)
            if value not in choices:
                raise UsageError(
                    f"{option}={value!r} is not one of {', '.join(choices)}", help=nearest(str(value), choices)
                )
        for option, names, known in (("sanitize", self.sanitize, SANITIZERS), ("build_file", self.build_files, KINDS)):
            for value in names:
                if value not in known:
                    raise UsageError(f"{option}={value!r} is not one of {', '.join(known)}", help=nearest(value, known))
        if self.build_files and self.emit == "mlf":
            raise UsageError("an archive has no build file beside it: with emit=mlf, build_file has no meaning")
        split_words(self.cflags, "the compiler's flags")
        if self.target.split()[:1] not in (["c"], ["llvm"]):
            raise UsageError(f"unknown target {self.target!r}", help="the target is c")
        if Names().fresh(self.name) != self.name:
            raise UsageError(
                f"{self.name!r} cannot be the name of the output: it must be a C identifier, and not a word of C"
            )
        if not self.entries or len(set(self.entries)) != len(self.entries):
            raise UsageError("each entry function is named once")
        if self.api == "tvm" and len(self.entries) > 1:
            raise UsageError("the peer's interface has one function: name one entry only, or use api=flat")

    @property
    def compiler(self) -> Compiler:
        """The C compiler, as this build calls it."""
        more = split_words(self.cflags, "the compiler's flags")
        if self.sanitize:
            # A program that goes on after what was found would exit with 0.
            more += [
                f"-fsanitize={','.join(self.sanitize)}",
                "-fno-sanitize-recover=all",
                "-fno-omit-frame-pointer",
                "-g",
            ]
        return Compiler(self.cc, self.mcpu, self.openmp, self.math == "strict", tuple(more))

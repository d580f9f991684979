"""Running the system's C compiler: `CC` and `CFLAGS` are honoured."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ...diagnostics import ToolError
from ...schedule.machine import Machine

DEFAULT_FLAGS = ("-std=c99", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
_SHOWN = 4000


def command() -> list[str]:
    """The compiler as an argument list: `CC`, or cc. Raises ToolError where there is none."""
    wanted = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if shutil.which(wanted[0]) is None:
        raise ToolError(f"no C compiler: {wanted[0]} was not found", help="install one, or name it in CC")
    return wanted


def flags(mcpu: str = "native", extra: Sequence[str] = ()) -> list[str]:
    """Compiler flags: irtool's own, the processor's, `CFLAGS`, then `extra`."""
    machine = [f"-march={mcpu}"] if mcpu else []
    return [*DEFAULT_FLAGS, *machine, *shlex.split(os.environ.get("CFLAGS", "")), *extra]


def run(arguments: Sequence[str], directory: Path) -> None:
    """Runs the compiler. Raises ToolError with its message where it fails; the sources stay where they are."""
    full = [*command(), *arguments]
    try:
        done = subprocess.run(full, cwd=directory, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise ToolError(f"{full[0]} could not be run: {error.strerror}") from None
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}"
        raise ToolError(
            f"the C compiler failed: {said[:_SHOWN]}", notes=(f"sources are kept in {directory}", shlex.join(full))
        )


@cache
def _macros(full: tuple[str, ...]) -> str:
    done = subprocess.run([*full, "-dM", "-E", "-x", "c", "/dev/null"], capture_output=True, text=True, check=False)
    return done.stdout


def detect(mcpu: str = "native") -> Machine:
    """What the compiler says of the processor: the width and number of its vector registers."""
    macros = _macros((*command(), *flags("" if mcpu == "none" else mcpu)))
    if "__AVX512F__" in macros:
        return Machine(64, 32)
    if "__AVX__" in macros:
        return Machine(32, 16)
    if "__ARM_NEON" in macros:
        return Machine(16, 32 if "__aarch64__" in macros else 16)
    return Machine(16, 16)


def compile_to(
    kind: str, sources: Sequence[Path], target: Path, mcpu: str = "native", extra: Sequence[str] = ()
) -> None:
    """Compiles C files to `target`: `so` a shared library, `obj` one object file, `exe` a program.

    It is made beside a temporary name, so that it appears whole or not at all.
    """
    how = {"so": ["-fPIC", "-shared"], "obj": ["-fPIC", "-c"], "exe": []}[kind]
    unfinished = target.with_name(f".{target.name}.tmp")
    libraries = [] if kind == "obj" else ["-lm"]
    try:
        run(
            [*flags(mcpu, extra), *how, "-o", str(unfinished.resolve()), *(s.name for s in sources), *libraries],
            target.parent,
        )
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)

"""Checks of a triple, a processor and its features against LLVM's lists.

LLVM reports an unknown processor on standard error, continues without it, and may then end its process: so the check runs in a
process of its own.
"""

from __future__ import annotations

import subprocess
from functools import cache

from ...diagnostics import UsageError
from ...isolation import python_command

_NO_ANSWER = 77
_PROBE = f"""
try:
    import llvmlite.binding as llvm
except (ImportError, OSError):
    sys.exit({_NO_ANSWER})
llvm.initialize_all_targets()
llvm.Target.from_triple(sys.argv[1]).create_target_machine(sys.argv[2], sys.argv[3])
"""


@cache
def check_names(triple: str, cpu: str, features: str) -> None:
    """Raises UsageError if llvmlite's LLVM does not know one of them. Takes 0.2 seconds."""
    command = python_command(_PROBE, triple, cpu, features)
    if not command:
        return
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode == _NO_ANSWER or (done.returncode == 0 and not done.stderr.strip()):
        return
    messages = done.stderr.strip().splitlines()
    asked = ", ".join(f"{n}={v!r}" for n, v in (("mtriple", triple), ("mcpu", cpu), ("mattr", features)) if v)
    why = messages[0 if done.returncode == 0 else -1] if messages else f"it ended with code {done.returncode}"
    raise UsageError(f"LLVM has no code for {asked}: {why.removeprefix('RuntimeError: ')}")

"""Processes of irtool in a Python of their own: the same interpreter, which imports nothing from the current folder.

A folder with a model may have come from anywhere, and a file `numpy.py` in it is no module that anybody asked for. Python itself looks
there first with `-c` and `-m`. What PYTHONPATH and the environment (`venv`) say holds for the child as it does for its parent.
"""

from __future__ import annotations

import os
import sys

_PREFACE = "import sys; import json; sys.path[:] = json.loads(sys.argv.pop(1)); "
_COMMAND_LINE = "from irtool.cli import main; main()"


def python_command(program: str, *arguments: str) -> list[str]:
    """The command line of a Python that runs a program text with arguments, in `sys.argv` from 1 on. Empty where no interpreter
    is known, as in a program that has Python inside."""
    if not sys.executable:
        return []
    import json  # not before the current folder is left

    return [sys.executable, "-P", "-c", _PREFACE + program, json.dumps(module_path()), *arguments]


def irtool_command(*arguments: str) -> list[str]:
    """The command line of this irtool."""
    return python_command(_COMMAND_LINE, *arguments)


def python_alone() -> list[str]:
    """The command of the interpreter itself, for programs that the user names."""
    return [sys.executable]


def module_path() -> list[str]:
    """The module path of this process, without the current folder; the folder of irtool comes last if it is not on it."""
    entries = [entry for entry in sys.path if not _is_current(entry)]
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return entries if own in entries else [*entries, own]


def leave_current_folder() -> None:
    """Takes the current folder from the front of the module path, where `python -m` has put it."""
    if not sys.flags.safe_path and sys.path and _is_current(sys.path[0]):
        del sys.path[0]
        own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        if own not in sys.path:
            sys.path.append(own)


def _is_current(entry: str) -> bool:
    try:
        return not entry or os.path.samefile(entry, os.curdir)
    except OSError:
        return False

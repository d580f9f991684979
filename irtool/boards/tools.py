"""The tools of a board: compiler and emulator, and Debian's packages with them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from ..diagnostics import ToolError


def require_tool(command: str, packages: Sequence[str], purpose: str) -> None:
    """Raises ToolError, with the packages to install, if there is no such command."""
    if shutil.which(command) is None:
        install = f"on Debian and Ubuntu: apt-get install {' '.join(packages)}" if packages else None
        raise ToolError(f"{purpose} needs {command}, which was not found", help=install)

"""Commands of irtool, run in this process."""

from __future__ import annotations

import contextlib
import io

from irtool.cli import run
from irtool.plugin.loading import plugins_kept


def irtool(*arguments: object) -> tuple[int, str, str]:
    """Exit code, output and messages of a command; no traceback may be among them. What it loads is forgotten, as when it ends."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), plugins_kept():
        code = run([str(a) for a in arguments])
    assert "Traceback" not in err.getvalue()
    return code, out.getvalue(), err.getvalue()

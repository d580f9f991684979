"""Commands of irtool, run in this process."""

from __future__ import annotations

import contextlib
import io

from irtool.cli import run


def irtool(*arguments: object) -> tuple[int, str, str]:
    """Exit code, output and messages of a command; no traceback may be among them."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(a) for a in arguments])
    assert "Traceback" not in err.getvalue()
    return code, out.getvalue(), err.getvalue()

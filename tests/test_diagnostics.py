"""Kinds of errors: what a shell sees of each."""

from __future__ import annotations

import pytest

from irtool.diagnostics import InternalError, IrError, ToolError, UsageError


@pytest.mark.parametrize(("kind", "code"), [(IrError, 1), (UsageError, 2), (InternalError, 3), (ToolError, 4)])
def test_exit_codes(kind: type[IrError], code: int) -> None:
    error = kind("said")
    assert error.exit_code == code and str(error) and [d.message for d in error.diagnostics] == ["said"]

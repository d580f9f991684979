"""pyright, which reads types in its own way, on what users write against irtool; it comes from PyPI and npm (`make test-peers`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.promise("typed")
def test_plugins_and_a_program_are_clean_under_strict_pyright(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--peers"):
        pytest.skip("only with --peers")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", "tests/typed"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors" in done.stdout

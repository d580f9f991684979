"""Loading a compiled library: how long OpenMP's threads watch for work, and that nothing else notices."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import irtool

LOAD = """
import os, sys
from pathlib import Path
before = dict(os.environ)
from irtool.backends.library import open_library
open_library(Path(sys.argv[1])).omp_get_max_threads()
assert dict(os.environ) == before
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    folder = tmp_path_factory.mktemp("threads")
    module = irtool.parse("def @main(%x: Tensor[(4096, 4096), float32]) { tanh(%x) }")
    irtool.build(module, openmp=True, cc="gcc", out_dir=folder)
    return folder / "model.so"


@pytest.mark.parametrize(
    "settings, turns",
    [
        ({}, "2000"),
        ({"GOMP_SPINCOUNT": "70"}, "70"),
        ({"OMP_WAIT_POLICY": "passive"}, "0"),
    ],
)
def test_threads_without_work_sleep_soon(library: Path, settings: dict[str, str], turns: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(library)],
        env={**environment, "OMP_DISPLAY_ENV": "verbose", **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if "GOMP_SPINCOUNT" not in done.stderr:
        pytest.skip("not gcc's OpenMP library")
    assert f"GOMP_SPINCOUNT = '{turns}'" in done.stderr

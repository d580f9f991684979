"""Calls of operators compiled with sanitizers, against their references, and the operators that differ for a reason."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.infer import infer_expr
from irtool.ir import Function, Module, Tuple, Var
from irtool.ir.rewrite import substitute
from irtool.ir.walk import post_order
from irtool.ops import call, operators
from tests.driver.sanitizers import MAIN, SANITIZE, harness
from tests.ops.computed import is_static, leaves
from tests.ops.drawing import argument

SHAPES = ("vm.reshape_tensor", "sparse_reshape")
"""Operators whose inputs hold shapes: the interpreter refuses those that do not fit."""

SORTED = ("searchsorted",)

APPROXIMATE = ("fast_erf",)
"""An approximation for finite numbers."""

PLACES = ("image.", "nn.upsampling", "vision.roi")
"""Interpolating ones: whether a place falls on a pixel hangs on rounding, and with it what infinity does there."""

Case = tuple[str, list[Any], dict[str, Any]]


def run_under_sanitizers(cases: list[Case], folder: Path, vector: bool) -> list[str]:
    """Builds all calls as one program, runs it, and says where it differs from the interpreter."""
    params: list[Var] = []
    bodies, inputs, expected_cases = [], [], []
    for name, values, attributes in cases:
        e = call(name, *map(argument, values), **attributes)
        if not is_static(infer_expr(e).checked_type):
            continue
        params += [v for v in post_order(e) if isinstance(v, Var)]
        bodies.append(e)
        inputs += leaves(tuple(values))
        with np.errstate(all="ignore"):
            expected_cases.append((name, values, attributes, operators.get(name).make(attributes).evaluate(*values)))
    named = [Var(f"x{i}", p.type_annotation) for i, p in enumerate(params)]
    body = substitute(Tuple(tuple(bodies)), dict(zip(params, named, strict=True)))
    module = irtool.infer_types(Module({"main": Function(tuple(named), body)}))
    artifact = irtool.build(module, out_dir=folder, name="h", emit="c", weights="inline", vector=vector, opt_level=0)
    writes = "".join(f"  fwrite(a{n}, 1, {t['bytes']}u, stdout);\n" for n, t in enumerate(artifact.report["outputs"]))
    function = harness("h", artifact.report).replace("  free(i0);", writes + "  free(i0);", 1)
    (folder / "main.c").write_text(MAIN.format(headers='#include "h.h"', functions=function, calls="  check_h(file);"))
    (folder / "inputs.raw").write_bytes(b"".join(np.ascontiguousarray(x).tobytes() for x in inputs))
    # Sanitizers see what is undefined before anything is optimized, and gcc takes a third of the time.
    command = [
        "cc",
        "-std=c99",
        *SANITIZE,
        "-O0",
        *(["-march=native"] if vector else []),
        "-DIRT_KEEP_DENORMALS",  # which the interpreter keeps, too
        "-o",
        "all",
        "main.c",
        "h.c",
        "-lm",
    ]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4000]
    done = subprocess.run(["./all"], cwd=folder, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[:4000]
    place, wrong = 0, []
    for name, values, attributes, want in expected_cases:
        for w in leaves(want):
            got = np.frombuffer(done.stdout[place : place + w.nbytes], w.dtype).reshape(w.shape)
            place += w.nbytes
            if not _agree(got, w):
                wrong.append(f"{name} {attributes} of {values}: {got} is not {w}")
    assert place == len(done.stdout)
    return wrong


def _agree(got: np.ndarray, want: np.ndarray) -> bool:
    """Integers are equal; floats are NaN, infinite or about the same number at the same places."""
    if want.dtype.kind != "f":
        return bool((got == want).all())
    near = 2e-2 if want.dtype.itemsize == 2 else 1e-4
    return bool(np.allclose(got.astype("float64"), want.astype("float64"), rtol=near, atol=near, equal_nan=True))

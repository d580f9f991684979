"""Random calls of every operator compiled to C, many at a time, on hostile numbers: each gives what the interpreter gives."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import irtool
from irtool.diagnostics import IrError
from irtool.ir import TensorType, tuple_leaves
from irtool.passes.core.bind import bind_params
from tests.fuzz.agreement import LARGEST, LateError, limited, size_of
from tests.fuzz.calls import DrawnCall, Tensor, draw_call, names
from tests.fuzz.compiled import Compiled, draw_options, hostile, run_drawn
from tests.fuzz.harness import Program
from tests.ops.hostile import APPROXIMATE, PLACES, SHAPES, SORTED


def run_values(seeds: Sequence[int]) -> Iterator[Compiled]:
    """The outcomes of the calls of these seeds, in order."""
    return run_drawn(seeds, draw_value)


def drawn_call(seed: int) -> DrawnCall:
    """The call of a seed."""
    rng = random.Random(f"values {seed}")
    return draw_call(rng.choice(names()), rng)


def draw_value(seed: int) -> Program | Compiled:
    """A call, its arguments and what the interpreter makes of them; an outcome where that is all."""
    drawn, rng = drawn_call(seed), random.Random(f"values of {seed}")
    values = drawn.values(seed)
    if drawn.operator not in (*SHAPES, *APPROXIMATE, *SORTED) and not drawn.operator.startswith(PLACES):
        values = [
            v if i in drawn.constants or _is_zero_point(drawn, i) else hostile(v, rng) for i, v in enumerate(values)
        ]
    if drawn.operator in SORTED and isinstance(values[0], np.ndarray) and values[0].ndim:
        values[0] = np.sort(values[0], -1)
    weights = {f"x{i}": values[i] for i in drawn.constants}
    inputs = [v for i, v in enumerate(values) if i not in drawn.constants]
    try:
        with limited():
            module = irtool.infer_types(bind_params(irtool.parse(drawn.text(), "call.relay"), weights))
            result = module["main"].ret_type
            if not all(isinstance(t, TensorType) and t.is_static for t in tuple_leaves(result)):
                return Compiled(seed, "refused", "not of tensors whose shapes are known")
            if size_of(result) > LARGEST:
                return Compiled(seed, "large")
            with np.errstate(all="ignore"):
                want = irtool.evaluate(module, inputs)
    except IrError as error:
        return Compiled(seed, "unevaluated", str(error))
    except (Exception, LateError) as error:  # noqa: BLE001 - the kind `calls` is for what leaves the interpreter
        return Compiled(seed, "unevaluated", f"{type(error).__name__}: {error}")
    return Program(f"v{seed}", module, inputs, want, draw_options(rng))


def _is_zero_point(drawn: DrawnCall, argument_index: int) -> bool:
    """Whether the argument may be a zero point: one that is not known is taken for a number of the dtype that it shifts."""
    a = drawn.arguments[argument_index]
    return drawn.operator.startswith("qnn.") and argument_index > 0 and isinstance(a, Tensor) and a.dtype == "int32"


def write_value(outcome: Compiled, folder: Path) -> Path:
    """Writes the call with what was found; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = drawn_call(outcome.seed)
    path = folder / f"value_{drawn.operator}_{outcome.seed}.relay"
    head = [f"// Seed {outcome.seed}: {outcome.message}".replace("\n", "\n// "), f"// {', '.join(outcome.pipeline)}"]
    run = "// RUN: irtool run --compare interp,c %s"
    weights = f"// weights: {', '.join(f'%x{i}' for i in sorted(drawn.constants)) or 'none'}"
    path.write_text("\n".join([*head, run, weights, drawn.text()]))
    return path

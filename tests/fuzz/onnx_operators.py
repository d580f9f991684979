"""Operators of ONNX with every attribute in combination: imported, evaluated, compiled, and compared with what others make of them."""

from __future__ import annotations

import contextlib
import functools
import random
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import IrError
from irtool.frontends.onnx.operator import onnx_operators
from irtool.ir import TensorType, tuple_leaves
from tests.fuzz.agreement import LateError, limited
from tests.fuzz.compiled import Compiled, run_drawn
from tests.fuzz.harness import Program
from tests.fuzz.onnx_draws import Draw, Known, Node
from tests.fuzz.onnx_peers import PEERS, distance, is_listed
from tests.fuzz.onnx_rows import NOT_DRAWN, ROWS, from_schema

OLDEST = 7
OPEN = 0.1
"""How many nodes have no known operands: axes, shapes and bounds are inputs. Such a model may be refused."""
_QUANTIZED = ("QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul")
"""Their results may differ by a unit: by the rounding of halves, or of sums."""


@functools.cache
def operators() -> tuple[str, ...]:
    """The names that are drawn: of all operators that irtool imports and the `onnx` package has a schema of, and of rows."""
    import onnx.defs

    named = {s.name for s in onnx.defs.get_all_schemas() if s.domain == ""}
    return tuple(sorted(({n for n in onnx_operators if n in named} - NOT_DRAWN) | set(ROWS)))


def draw_node(seed: int) -> Node:
    """The node of a seed: its operator, the version of all operators, operands and attributes."""
    import onnx.defs

    rng = random.Random(f"onnx {seed}")
    name = rng.choice(operators())
    newest = onnx.defs.onnx_opset_version()
    versions = [v for v in range(OLDEST, newest + 1) if _has(name, v)]
    opset = rng.choice(versions)
    d = Draw(f"operands {seed}", opset)
    drawn = ROWS[name](d) if name in ROWS else from_schema(d, onnx.defs.get_schema(name, max_inclusive_version=opset))
    operands = list(drawn[0])
    if rng.random() < OPEN:
        operands = [o.value if isinstance(o, Known) else o for o in operands]
    near = 1.0 if name in _QUANTIZED or name.startswith("com.microsoft.QLinear") else 1e-4
    return Node(name, opset, operands, drawn[1], drawn[2] if len(drawn) > 2 else 1, near)


def _has(name: str, opset: int) -> bool:
    import onnx.defs

    if "." in name:
        return opset >= 17
    try:
        return not onnx.defs.get_schema(name, max_inclusive_version=opset).deprecated
    except onnx.defs.SchemaError:
        return False


@dataclass(frozen=True)
class Trial:
    """A node as a model, and the values of its inputs."""

    node: Node
    model: Any
    inputs: dict[str, np.ndarray]


def trial_of(node: Node) -> Trial:
    """The model of one node."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    names, tensors, weights, inputs = [], {}, [], []
    for k, operand in enumerate(node.operands):
        if operand is None:
            names.append("")
            continue
        name = f"x{k}"
        names.append(name)
        if isinstance(operand, Known):
            weights.append(numpy_helper.from_array(np.array(operand.value, order="C"), name))
        else:
            tensors[name] = np.array(operand, order="C")
            inputs.append(
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(operand.dtype), operand.shape)
            )
    while names and not names[-1]:
        names.pop()
    domain, _, operator = node.operator.rpartition(".")
    outputs = [f"y{k}" for k in range(node.outputs)]
    node_proto = helper.make_node(operator, names, outputs, domain=domain, **node.attributes)
    typed = [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in outputs]
    for t in typed:
        t.ClearField("type")
    graph = helper.make_graph([node_proto], "g", inputs, typed, weights)
    opsets = [helper.make_opsetid("", node.opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8 if node.opset < 20 else 10)
    with contextlib.suppress(Exception):  # irtool infers types by itself
        model = onnx.shape_inference.infer_shapes(model)
    return Trial(node, model, tensors)


def imported(trial: Trial) -> tuple[Any, list[Any]]:
    """The module and its arguments. Raises IrError."""
    with warnings.catch_warnings(), limited():
        warnings.simplefilter("ignore")
        module, weights = irtool.from_onnx(trial.model)
    return module, [trial.inputs[p.name] if p.name in trial.inputs else weights[p.name] for p in module["main"].params]


def draw_operator(seed: int, peers: Sequence[str] = tuple(PEERS)) -> Program | Compiled:
    """The program of a seed, which agrees with one of the peers; an outcome where that is all."""
    trial = trial_of(draw_node(seed))
    shown = (show(trial.node),)
    with np.errstate(all="ignore"):
        others = {n: r for n in peers if (r := PEERS[n](trial.model, trial.inputs)) is not None}
        try:
            module, inputs = imported(trial)
            want = irtool.evaluate(module, inputs)
        except (IrError, LateError) as error:
            valid = error.exit_code not in (1, 2) if isinstance(error, IrError) else True
            is_open = not any(isinstance(o, Known) for o in trial.node.operands)
            return Compiled(seed, "failed" if (others and not is_open) or valid else "refused", str(error), shown)
        except Exception as error:  # noqa: BLE001 - whatever leaves the import is what is looked for
            return Compiled(seed, "failed", f"{type(error).__name__}: {error}", shown)
    results = [np.asarray(w) for w in want] if isinstance(want, tuple | list) else [np.asarray(want)]
    disagreements = {n: distance(results, r, trial.node.near) for n, r in others.items()}
    excused = all(is_listed(n, trial.node.operator, trial.node.attributes) for n, s in disagreements.items() if s)
    if disagreements and all(disagreements.values()) and not excused:
        return Compiled(seed, "failed", "; ".join(f"{n}: {s}" for n, s in disagreements.items()), shown)
    if not all(isinstance(t, TensorType) and t.is_static for t in tuple_leaves(module["main"].ret_type)):
        return Compiled(seed, "refused", "not of tensors whose shapes are known", shown)
    options = {
        "opt_level": random.Random(seed).choice([0, 2, 3]),
        "mcpu": random.Random(seed).choice(["native", "x86-64-v3", "none"]),
    }
    return Program(f"o{seed}", module, inputs, want, options)


def run_operators(seeds: Sequence[int]) -> Iterator[Compiled]:
    """The outcomes of the nodes of these seeds, in order, against all peers that are there."""
    return run_drawn(seeds, draw_operator)


def run_against_reference(seeds: Sequence[int]) -> Iterator[Compiled]:
    """The same against the evaluator of the `onnx` package only."""
    return run_drawn(seeds, partial(draw_operator, peers=("reference",)))


def show(node: Node) -> str:
    """A node in a line."""
    parts = []
    for operand in node.operands:
        known = isinstance(operand, Known)
        value = operand.value if known else operand
        if value is None:
            parts.append("")
        else:
            small = f" {value.tolist()}" if known and value.size <= 8 else ""
            parts.append(f"{value.dtype}{list(value.shape)}{small}")
    return f"{node.operator}-{node.opset}({', '.join(parts)}) {node.attributes}"


def write_operator(outcome: Compiled, folder: Path) -> Path:
    """Writes the model and its inputs; `irtool run --compare interp,c --inputs …` shows what it gives. Returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    trial = trial_of(draw_node(outcome.seed))
    path = folder / f"operator_{trial.node.operator}_{outcome.seed}.onnx"
    path.write_bytes(trial.model.SerializeToString())
    np.savez(path.with_suffix(".npz"), **trial.inputs)
    return path

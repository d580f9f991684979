"""The backend test suite of the `onnx` package: each of its models imported, evaluated, compiled, and compared.

    python -m tests.frontends.onnx.suite [--kind node] [--match REGEX] [--no-c] [--jobs 2] [--show]

What fails stands with its reason in `lacking.txt`, which may only shrink; `--page` writes docs/onnx-coverage.md.
"""

from __future__ import annotations

import multiprocessing
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import IrError
from irtool.frontends.onnx.elements import BY_NAME

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
NOT_TRIED = "not tried"
OUT_OF_SCOPE = {
    "strings": r"string|strnorm|tfidf|label_encoder|regex",
    "sequences, maps and optionals": r"sequence|optional|identity_opt|_seq\b|loop13_seq|if_opt|if_seq|split_to_sequence",
    "training": r"adagrad|adam|momentum|gradient|training_dropout|_train\b",
    "ML-domain operators": r"ai_onnx_ml|array_feature|binarizer",
}
"""What Relay has no values for, by the names of tests."""


@dataclass(frozen=True)
class Case:
    """A model with the inputs of its tests, and what comes out."""

    kind: str
    name: str
    model: Any
    data: tuple[tuple[list[Any], list[Any]], ...]
    rtol: float
    atol: float

    @property
    def out_of_scope(self) -> str:
        """Why the model is not counted; empty if it is."""
        for reason, pattern in OUT_OF_SCOPE.items():
            if re.search(pattern, self.name):
                return reason
        return _foreign_types(self.model)


@dataclass(frozen=True)
class Outcome:
    """What became of a case: for the interpreter and for C, empty where it passed, else the reason."""

    name: str
    kind: str
    interpreter: str
    compiled: str

    @property
    def passed(self) -> bool:
        """True if both gave what the suite expects."""
        return not self.interpreter and not self.compiled


def _foreign_types(model: Any) -> str:
    """Why the values of a model's inputs and outputs are not tensors that Relay has; empty if they are."""
    for v in (*model.graph.input, *model.graph.output):
        kind = v.type.WhichOneof("value")
        if kind != "tensor_type":
            return "sequences, maps and optionals"
        if v.type.tensor_type.elem_type == 8:
            return "strings"
    return ""


@cache
def cases(kind: str) -> dict[str, Case]:
    """The cases of a kind by name."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = load_model_tests(kind=kind)
    return {t.name: case for t in loaded if (case := _case(kind, t)) is not None}


def _case(kind: str, t: Any) -> Case | None:
    import onnx
    from onnx import numpy_helper

    if t.model is not None:
        data = tuple(([_array(x) for x in i], [_array(x) for x in o]) for i, o in t.data_sets)
        return Case(kind, t.name, t.model, data, t.rtol, t.atol)
    folder = Path(t.model_dir)
    model = onnx.load(folder / "model.onnx")

    def read(pattern: str, values: Any) -> Iterator[list[Any]]:
        for part in sorted(folder.glob("test_data_set_*")):
            tensors = []
            for i, v in enumerate(values):
                path = part / pattern.format(i)
                if v.type.WhichOneof("value") != "tensor_type":
                    tensors.append(None)
                    continue
                proto = onnx.TensorProto.FromString(path.read_bytes())
                tensors.append(numpy_helper.to_array(proto))
            yield tensors

    initial = {i.name for i in model.graph.initializer}
    try:
        inputs = list(read("input_{}.pb", [i for i in model.graph.input if i.name not in initial]))
        outputs = list(read("output_{}.pb", model.graph.output))
    except FileNotFoundError:
        return None
    return Case(kind, t.name, model, tuple(zip(inputs, outputs, strict=True)), t.rtol, t.atol)


def _array(x: Any) -> Any:
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(x) if isinstance(x, TensorProto) else x


def run_case(case: Case, compiled: bool = True) -> Outcome:
    """Imports, evaluates, compiles and compares; the reason of the first failure on each way."""
    interpreter, built = "", "" if compiled else NOT_TRIED
    for inputs, outputs in case.data:
        try:
            drawn: list[Any] = []
            module, params, main_inputs = imported(case, inputs, drawn.append)
        except IrError as error:
            reason = _reason(error)
            return Outcome(case.name, case.kind, reason, reason if compiled else NOT_TRIED)
        program = (module, params, main_inputs)
        interpreter = interpreter or _attempt(_evaluated, program, outputs, case)
        if compiled:
            built = built or _attempt(_compiled, program, outputs, case)
        if drawn:
            interpreter, built = (DRAWS if r.startswith("output ") else r for r in (interpreter, built))
    return Outcome(case.name, case.kind, interpreter, built)


DRAWS = "it draws random numbers, and other ones than the suite's"


def imported(
    case: Case, inputs: list[Any], say: Callable[[Any], None] = lambda d: None
) -> tuple[Any, Any, dict[str, Any]]:
    """The module of a case, its parameters, and the inputs by name. `say` is called with warnings.

    Where a shape is decided by the values of inputs, these become constants: first those of integers, then all.
    """
    initial = {i.name for i in case.model.graph.initializer}
    names = [i.name for i in case.model.graph.input if i.name not in initial]
    arrays = {n: np.asarray(a) for n, a in zip(names, inputs, strict=True)}
    shapes = {n: a.shape for n, a in arrays.items()}
    integers = {n: a for n, a in arrays.items() if a.dtype.kind in "iub" and a.ndim <= 1}
    last: IrError | None = None
    for values in ({}, integers, arrays):
        try:
            module, params = irtool.from_onnx(case.model, shapes=shapes, values=_bits(values), say=say)
        except IrError as error:
            if isinstance(error, irtool.diagnostics.UsageError):
                raise
            last = last or error
            continue
        main_inputs = {n: a for n, a in _bits(arrays).items() if n not in values}
        main = [p.name for p in module["main"].params if p.name not in params]
        if "?" in str(module["main"].checked_type) and values is not arrays:
            continue
        return module, params, dict(zip(main, main_inputs.values(), strict=True))
    assert last is not None or module is not None
    if last is not None:
        raise last
    return module, params, dict(zip(main, main_inputs.values(), strict=True))


def _bits(arrays: dict[str, Any]) -> dict[str, Any]:
    """bfloat16 as its bits, which is how irtool's arrays hold it; narrow types as the wider ones that hold them."""
    return {n: a.view("uint16") if str(a.dtype) == "bfloat16" else _as_stored(a) for n, a in arrays.items()}


def _as_stored(array: Any) -> Any:
    """A tensor of a type that Relay does not have, in the type that holds its values."""
    narrow = BY_NAME.get(str(array.dtype).replace("_", "").replace("e2m1fn", "e2m1").replace("e8m0fnu", "e8m0"))
    return array.astype(narrow.storage_dtype) if narrow else array


def _evaluated(module: Any, params: Any, main_inputs: dict[str, Any]) -> Any:
    return irtool.evaluate(module, {**main_inputs, **params})


def _compiled(module: Any, params: Any, main_inputs: dict[str, Any]) -> Any:
    return irtool.build(module, params, opt_level=3, cflags="-O0").run(main_inputs)


def _attempt(run: Callable[..., Any], program: tuple[Any, ...], outputs: list[Any], case: Case) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs_ = run(*program)
    except IrError as error:
        return _reason(error)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is the result of this case
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    outputs_ = outputs_ if isinstance(outputs_, tuple | list) else (outputs_,)
    for i, (f, o) in enumerate(zip(outputs_, outputs, strict=True)):
        difference = _difference(np.asarray(f), np.asarray(o), case)
        if difference:
            return f"output {i} {difference}"
    return ""


_BFLOAT16_RTOL = 2**-6
"""What the suite itself allows of bfloat16: two units in the last place."""


def _difference(actual: Any, expected: Any, case: Case) -> str:
    rtol, expected = case.rtol, _as_stored(expected)
    if str(expected.dtype) == "bfloat16":
        rtol = max(rtol, _BFLOAT16_RTOL)
        expected = expected.astype("float32")
        actual = (
            (actual.astype("uint32") << 16).view("float32") if actual.dtype == np.uint16 else actual.astype("float32")
        )
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"is {actual.dtype}{list(actual.shape)}, not {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind in "fc":
        if np.allclose(actual.astype("float64"), expected.astype("float64"), rtol, case.atol, equal_nan=True):
            return ""
        with np.errstate(all="ignore"):
            return f"differs by up to {np.nanmax(np.abs(actual.astype('float64') - expected.astype('float64'))):.3g}"
    return (
        ""
        if np.array_equal(actual, expected)
        else f"differs in {np.count_nonzero(actual != expected)} of {expected.size}"
    )


def _reason(error: IrError) -> str:
    return error.diagnostics[0].message.splitlines()[0]


def _run(item: tuple[str, str, bool]) -> Outcome:
    kind, name, compiled = item
    return run_case(cases(kind)[name], compiled)


def counted(chosen_kinds: Sequence[str] = KINDS, match: str = "") -> tuple[list[tuple[str, str]], dict[str, str]]:
    """The models that count, as (kind, name), and the others by kind and name with the reason."""
    chosen = [(k, n) for k in chosen_kinds for n in cases(k) if re.search(match, n)]
    skipped = {f"{k} {n}": reason for k, n in chosen if (reason := cases(k)[n].out_of_scope)}
    return [(k, n) for k, n in chosen if f"{k} {n}" not in skipped], skipped


def run_cases(chosen: Sequence[tuple[str, str]], compiled: bool = True, jobs: int = 1) -> Iterator[Outcome]:
    """What becomes of models, in order."""
    with multiprocessing.Pool(jobs) as pool:
        yield from pool.imap(_run, [(k, n, compiled) for k, n in chosen], chunksize=4)


def main() -> None:
    """The command line."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m tests.frontends.onnx.suite", description=__doc__)
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--match", default="", help="regular expression that names of cases contain")
    parser.add_argument("--no-c", action="store_true", help="the interpreter only")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="the text of each module, too")
    parser.add_argument("--quiet", action="store_true", help="no line for what fails")
    parser.add_argument("--page", action="store_true", help="run everything; write the page and the list")
    options = parser.parse_args()
    if options.page and (options.kind or options.match or options.no_c):
        parser.error("--page is about all models")
    chosen_kinds = options.kind or KINDS
    chosen, skipped = counted(chosen_kinds, options.match)
    outcomes = []
    for o in run_cases(chosen, not options.no_c, options.jobs):
        outcomes.append(o)
        if not options.quiet and (o.interpreter or o.compiled not in ("", NOT_TRIED)):
            print(f"{o.kind} {o.name}: interpreter: {o.interpreter or 'ok'} | C: {o.compiled or 'ok'}", flush=True)
        if options.show:
            case = cases(o.kind)[o.name]
            print(imported(case, case.data[0][0])[0])
    for kind in chosen_kinds:
        of_kind = [o for o in outcomes if o.kind == kind]
        passed = sum(not o.interpreter and o.compiled in ("", NOT_TRIED) for o in of_kind)
        if of_kind:
            print(f"{kind}: {passed} of {len(of_kind)} ({100 * passed / len(of_kind):.1f} %)")
    print(f"out of scope: {len(skipped)}")
    if options.page:
        from . import page

        page.LACKING.write_text(page.lacking(outcomes))
        page.PAGE.write_text(page.page(outcomes, skipped))


if __name__ == "__main__":
    main()

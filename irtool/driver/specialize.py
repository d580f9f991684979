"""Modules whose shapes depend on the inputs: compiled once for each set of input shapes.

Parameters get the shapes of the values that they are run with. Where that does not settle every shape (an input *is* a
shape), small integer inputs are taken as constants too. Each distinct case is compiled once, whichever thread comes with it first.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..diagnostics import IrError
from ..ir import Constant, Expr, Function, Module, TensorType, Var, substitute, with_function
from ..ir.inputs import check_inputs, list_names
from ..ir.tensor_names import parameters_by_input

_SMALL = 4096
"""The largest integer input, in elements, whose value may be built into the code."""


class BakedInputsWarning(UserWarning):
    """The compiled code depends on the values of inputs: they are constants in it."""


def said_of(baked: Sequence[str]) -> str:
    """The warning for inputs that have become constants."""
    names = list_names(baked)
    if len(baked) == 1:
        return f"the C depends on the value of {names}: it was compiled with that value as a constant, anew for each other one"
    return f"the C depends on the values of {names}: it was compiled with these as constants, anew for each others"


@dataclass(frozen=True)
class Special:
    """An artifact for some inputs.

    Attributes:
        inputs: those that it takes.
        baked: the names of the others, whose values are constants of it.
        refusal: the reason if no values can be compiled.
    """

    artifact: Any
    inputs: list[Any]
    baked: list[str]
    refusal: IrError | None


class Specializer:
    """Has `run(inputs)` like an artifact; `compile` builds a module of static shapes."""

    def __init__(self, module: Module, entry: str, compile: Callable[[Module], Any]) -> None:
        self.module = module
        self.entry = entry
        self._compile = compile
        self._artifacts: dict[Any, tuple[Any, list[int]]] = {}
        self._compiling = threading.Lock()

    def run(self, inputs: Sequence[Any] | Mapping[str, Any], runner: Sequence[str] = ()) -> Any:
        """Runs on these inputs, after compiling for them if needed; `runner` as for `Artifact.run`.

        Warns with BakedInputsWarning of inputs whose values are constants of what is run.
        """
        special = self.special(inputs)
        if special.baked:
            warnings.warn(said_of(special.baked), BakedInputsWarning, stacklevel=3)
        return special.artifact.run(special.inputs, runner=runner)

    def special(self, inputs: Sequence[Any] | Mapping[str, Any]) -> Special:
        """The artifact for these inputs, compiled unless it has been."""
        function = self.module[self.entry]
        names = parameters_by_input(function)
        values = check_inputs(function.params, inputs, self.entry, span=function.span, names=names)
        shapes = tuple(_shape(v) for v in values)
        small = [
            n
            for n, v in enumerate(values)
            if not isinstance(v, tuple | list) and v.size <= _SMALL and v.dtype.kind != "f"
        ]
        everything = [n for n, v in enumerate(values) if not isinstance(v, tuple | list) and v.size <= _SMALL]
        error: IrError | None = None
        for bound in ([], small, everything):
            key = (shapes, tuple((n, values[n].tobytes()) for n in bound))
            try:
                artifact, taken = self._artifacts.get(key) or self._make(key, values, bound)
            except IrError as refused:
                error = error or refused
                continue
            left = [v for n, v in enumerate(values) if n not in taken]
            return Special(artifact, left, [function.params[n].name for n in taken], error)
        assert error is not None
        raise error

    def _make(self, key: Any, values: Sequence[Any], bound: Sequence[int]) -> tuple[Any, list[int]]:
        """The artifact for a case, compiled unless another thread has done so meanwhile."""
        with self._compiling:
            result = self._artifacts.get(key)
            if result is None:
                result = self._artifacts[key] = (self._compile(self._special(values, bound)), list(bound))
            return result

    def _special(self, values: Sequence[Any], bound: Sequence[int]) -> Module:
        """The module with parameters of these shapes; those in `bound` are constants."""
        from ..infer import infer_types
        from ..ir.untyped import without_types
        from ..ops.onnx_node import settle_waiting

        function = self.module[self.entry]
        assert isinstance(function, Function)
        renamed: dict[Var, Expr] = {}
        params: list[Var] = []
        for n, (p, v) in enumerate(zip(function.params, values)):
            t = p.checked_type or p.type_annotation
            if n in bound and isinstance(t, TensorType):
                renamed[p] = Constant(v, t.dtype)
                continue
            if isinstance(t, TensorType) and not t.is_static:
                renamed[p] = fitted = Var(p.name, TensorType(v.shape, t.dtype), p.span)
                params.append(fitted)
            else:
                params.append(p)
        body = without_types(substitute(function.body, renamed))
        special = with_function(function, params=tuple(params), body=body)
        special = Function(special.params, special.body, None, special.type_params, special.attrs, special.span)
        return settle_waiting(infer_types(self.module.with_function(self.entry, special)), self.entry)


def _shape(v: Any) -> Any:
    return tuple(_shape(x) for x in v) if isinstance(v, tuple | list) else v.shape

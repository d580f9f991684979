"""Calls of operators as loop nests in TIR, from irtool's own lowering."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...diagnostics import IrError
from ...ir import Call, Function, Op, TupleType, Var, tuple_leaves
from ...ir.types import has_static_shapes
from ...lower import compose, lower_function
from ...ops import Operator
from .forms import NoForm, Text
from .literals import parenthesized
from .names import ScriptNames
from .tirscript import LoopNestScript
from .types import type_text


@dataclass
class Kernels:
    """The loop nests of a module: equal calls share theirs. `functions` are their lines, in order of first use."""

    names: ScriptNames
    functions: list[list[str]] = field(default_factory=list)
    _known: dict[object, str] = field(default_factory=dict)

    def write(self, call: Call, args: tuple[Text, ...], fields: list[list[Text]]) -> Text:
        """`R.call_tir` of the loop nest of a call. `fields` are the leaves of each argument.

        Raises NoForm, with the reason, for an operator that has no tensor expression, or a shape that is not known.
        """
        assert isinstance(call.op, Op)
        types = [a.checked_type for a in call.args]
        result = call.checked_type
        if result is None or any(t is None for t in types):
            raise NoForm("its types are not known")
        if not all(map(has_static_shapes, (*types, result))):  # type: ignore[arg-type]  # they are known
            raise NoForm("a loop nest needs every dimension, which --shape gives for parameters")
        if call.op.operator.compute is Operator.compute:
            raise NoForm("it has no tensor expression to make a loop nest of")
        key = (call.op.name, repr(call.attrs), tuple(types), result)
        if key not in self._known:
            self._known[key] = self._add(call)
        leaves = list(tuple_leaves(result))
        outs = [type_text(t) for t in leaves]
        shown = f"[{', '.join(outs)}]" if len(outs) > 1 else outs[0]
        inputs = parenthesized([t for texts in fields for t in texts]) if any(fields) else "()"
        called = Text(f"R.call_tir(cls.{self._known[key]}, {inputs}, out_ty={shown})")
        is_tuple_of_one = isinstance(result, TupleType) and len(outs) == 1
        return Text(parenthesized([called])) if is_tuple_of_one else called

    def _add(self, call: Call) -> str:
        params = tuple(Var(f"p{n}", a.checked_type, None, a.checked_type) for n, a in enumerate(call.args))
        body = Call(call.op, params, call.attrs, (), call.span, call.checked_type)
        try:
            graph = compose(Function(params, body, call.checked_type))
            if graph.constants:
                raise NoForm("its loop nest holds constants")
            nest = lower_function(graph, call.op.name)  # type: ignore[attr-defined]  # it is an operator
        except IrError as error:
            raise NoForm(error.diagnostics[0].message) from None
        except NotImplementedError as error:
            raise NoForm(str(error)) from None
        name = self.names.fresh(call.op.name.rpartition(".")[2])  # type: ignore[attr-defined]  # it is an operator
        self.functions.append(LoopNestScript(name, nest).lines)
        return name

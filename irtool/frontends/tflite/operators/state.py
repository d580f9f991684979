"""Variables, which become states of the network, and subgraphs that run once."""

from __future__ import annotations

from ....ir import TensorType
from ..operator import Operand, Result, TfliteOperator, tflite_operator
from ..states import Handle


def key_of(operator: TfliteOperator, x: Operand) -> str:
    """The variable that a tensor names. Raises IrError for a tensor that names none."""
    if not isinstance(x.value, Handle):
        raise operator.damaged(f"the tensor {x.tensor.name} names no variable")
    return x.value.key


@tflite_operator("VAR_HANDLE")
class VarHandle(TfliteOperator):
    """The name of a variable."""

    folds = False

    def convert(self, *, container: bytes | None = None, shared_name: bytes | None = None) -> Result:
        parts = [(p or b"").decode("utf-8", "replace") for p in (container, shared_name)]
        return self.graph.states.handle("/".join(p for p in parts if p) or "variable")


@tflite_operator("READ_VARIABLE")
class ReadVariable(TfliteOperator):
    """The value of a variable."""

    folds = False

    def convert(self, x: Operand) -> Result:
        out = self.outputs[0]
        return self.graph.states.read(key_of(self, x), TensorType(out.shape, out.dtype))


@tflite_operator("ASSIGN_VARIABLE")
class AssignVariable(TfliteOperator):
    """A variable's new value."""

    folds = False

    def convert(self, x: Operand, value: Operand) -> Result:
        self.graph.states.assign(key_of(self, x), value.value)
        return []


@tflite_operator("CALL_ONCE")
class CallOnce(TfliteOperator):
    """A subgraph that gives variables their first values."""

    folds = False

    def convert(self, *, init_subgraph_index: int = 0) -> Result:
        states = self.graph.states
        states.is_beginning = True
        try:
            self.graph.converted(init_subgraph_index, [], self.node.place)
        finally:
            states.is_beginning = False
        return []

"""A tuple where an operator takes a tensor is refused by its type rule, whatever the rule asks of that argument otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.driver.operator_cases import module_of
from irtool.ir import Call, Function, TensorType, TupleType, Type
from irtool.ops import operators
from irtool.ops.base import RelationError
from irtool.ops.cases import cases_of
from irtool.ops.known import Known

pytestmark = pytest.mark.promise("refused by type")

ANY_VALUE = {"debug", "device_copy", "length.set", "memory.kill", "on_device"}
"""Operators that take values of any type, beside those of `annotation`."""


class Assigning(Known):
    """What a rule says of an argument is compared with its type."""

    def __init__(self, types: Sequence[Type]) -> None:
        self.types = types

    def assign(self, index: int, type: Type) -> None:
        self.unify(type, self.types[index])


def takes(attrs: Any, types: Sequence[Type]) -> bool:
    try:
        attrs.relate(types, Assigning(types))
    except RelationError:
        return False
    return True


def test_every_rule_looks_at_every_argument() -> None:
    taken, tried = set(), 0
    for cls in operators:
        if cls.name in ANY_VALUE or cls.name.startswith("annotation."):
            continue
        accepted = next((c for c in cases_of(cls) if not c.refusal), None)
        if accepted is None:
            continue
        main = module_of(accepted)["main"]
        assert isinstance(main, Function) and isinstance(main.body, Call)
        types = [a.checked_type for a in main.body.args]
        for argument_index, t in enumerate(types):
            if isinstance(t, TensorType):
                tried += 1
                if takes(
                    main.body.attrs or cls.make({}),
                    [*types[:argument_index], TupleType((t,)), *types[argument_index + 1 :]],
                ):
                    taken.add((cls.name, argument_index))
    assert tried > 500
    assert taken == set()


@pytest.mark.parametrize(
    "call",
    [
        "%x: Tensor[(1, 1, 4, 4), float32], %y: (Tensor[(2), int64],) | dyn.image.resize2d(%x, %y, meta)",
        "%x: Tensor[(1, 1, 4, 4), float32], %y: (Tensor[(2), int64],) | dyn.image.resize2d(%x, meta, %y)",
    ],
)
def test_the_refusal_has_a_place(call: str) -> None:
    params, body = call.replace("meta", "reshape(2, newshape=[1])").split(" | ")
    with pytest.raises(IrError, match="must be a tensor, not ") as error:
        irtool.infer_types(irtool.parse(f"def @main({params}) {{ {body} }}"))
    assert all(d.span is not None for d in error.value.diagnostics)

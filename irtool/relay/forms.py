"""An operator as a function: `relay.nn.conv2d(data, weight, channels=32, kernel_size=3, padding=1)`."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import typing
from typing import Any

from ..diagnostics import nearest
from ..ir import Call, Constant, Expr
from ..ir.module import describe
from ..ops.base import DType, Operator, call, op, operators
from ..plugin import type_hints
from .literals import as_expr, const
from .signatures import SIGNATURES

_REQUIRED = inspect.Parameter.empty
_PER_AXIS = ("strides", "dilation", "kernel_size", "pool_size", "output_padding")


@functools.cache
def find_form(name: str) -> Any:
    """The function for a name such as `nn.relu`, or None: one of `special`, or a call of the operator of that name."""
    from .special import FUNCTIONS

    name = name.replace("qnn.op.", "qnn.")
    own = FUNCTIONS.get(name)
    if own is not None:
        return own
    if name == "get":
        return op
    for known in (name, f"relay.op.{name}"):
        if known in operators:
            return OperatorForm(operators.get(known))
    return None


def form_names() -> list[str]:
    """All names that `find_form` knows."""
    from .special import FUNCTIONS

    names = {n.removeprefix("relay.op.") for n in operators.names()}
    in_tvm = {f"qnn.op.{n.removeprefix('qnn.')}" for n in names if n.startswith("qnn.")}
    return sorted({*names, *in_tvm, *FUNCTIONS, "get"})


class OperatorForm:
    """A function that calls an operator. Inputs and attributes by position or by name; their order and defaults are `__signature__`."""

    def __init__(self, operator: type[Operator]) -> None:
        self.operator = operator
        self.__name__ = self.__qualname__ = operator.name
        self.__doc__ = operator.manual()
        self.__signature__, self._target = _signature(operator)
        self._rank = _spatial_rank(operator)

    def __repr__(self) -> str:
        return f"<relay.{self.__name__}{self.__signature__}>"

    def __call__(self, *args: Any, **attributes: Any) -> Expr:
        parameters = self.__signature__.parameters
        for name in attributes:
            if name not in parameters:
                help = nearest(name, parameters)
                raise TypeError(f"{self.__name__} has no argument {name}" + (f": {help}" if help else ""))
        if self.operator.variadic and len(args) > len(parameters):
            return self._call(dict(enumerate(args)), {})  # type: ignore[arg-type]  # positions stand for names
        try:
            bound = self.__signature__.bind(*args, **attributes)
        except TypeError as error:
            raise TypeError(f"{self.__name__}: {error}; it takes {self.__signature__}") from None
        bound.apply_defaults()
        values = {self._target.get(n, n): v for n, v in bound.arguments.items()}
        inputs = {n: v for n, v in values.items() if n in self._inputs}
        return self._call(inputs, {n: v for n, v in values.items() if n not in self._inputs})

    @property
    def _inputs(self) -> tuple[str, ...]:
        return self.operator.arguments[: self.operator.arity]

    def _call(self, inputs: dict[str, Any], attributes: dict[str, Any]) -> Call:
        name = self.__name__
        hints = type_hints(self.operator)
        for key, value in attributes.items():
            if isinstance(value, Constant) and hints.get(key) is not Any:
                attributes[key] = value = value.data.tolist()  # type: ignore[union-attr]  # the data of the constant is there
            if isinstance(value, Expr) and hints.get(key) is not Any:
                return self._dynamic({**inputs, **attributes}, key)
            attributes[key] = self._fitted(key, value, hints[key])
        ordered = [inputs[n] for n in (self._inputs if set(inputs) >= set(self._inputs) else inputs)]
        exprs = [as_expr(v, f"the argument {n} of {name}") for n, v in zip(inputs, ordered)]
        return call(name, *exprs, **attributes)

    def _dynamic(self, values: dict[str, Any], key: str) -> Call:
        """The call where an attribute is an expression: of the operator that takes it as an input."""
        cls = operators.find(f"dyn.{self.__name__}")
        if cls is None or not {key, key.replace("axis", "axes")} & set(cls.arguments):
            raise TypeError(f"{self.__name__} needs {key} as a value that is known, not {describe(values[key])}")
        inputs = []
        for n in cls.arguments:
            value = values.get(n, values.get(n.replace("axes", "axis")))
            if value is not None and not isinstance(value, str):
                inputs.append(value if isinstance(value, Expr) else const(value))
        hints = type_hints(cls)
        attributes = {n: v for n, v in values.items() if n in hints and n != key and not isinstance(v, Expr)}
        if key in hints and key not in cls.arguments:
            attributes.pop(key, None)
        for f in cls.fields():
            if f.name not in attributes and _has_no_default(f):
                attributes[f.name] = (
                    () if _is_list(hints[f.name]) else 0
                )  # the name of an attribute that is an input now
        return call(cls.name, *inputs, **{n: self._fitted(n, v, hints[n]) for n, v in attributes.items()})

    def _fitted(self, key: str, value: Any, hint: Any) -> Any:
        """The value in the attribute's type: one number for all axes, padding for both sides, numpy's numbers as Python's."""
        if hasattr(value, "tolist"):
            value = value.tolist()
        if key == "padding" and self._rank:
            return _both_sides(value, self._rank, self.__name__)
        if hint is DType and value is not None:
            return str(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and _is_list(hint):
            return (value,) * (self._rank if key in _PER_AXIS and self._rank else 1)
        return value


def _has_no_default(f: Any) -> bool:
    return f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING


def _is_list(hint: Any) -> bool:
    options = typing.get_args(hint) if typing.get_origin(hint) is not tuple else (hint,)
    return any(typing.get_origin(k) is tuple for k in options) and int not in options


def _spatial_rank(operator: type[Operator]) -> int:
    """The number of axes that a convolution or a pooling moves along; 0 for any other operator."""
    match = re.search(r"(?:conv|pool)(\d)d", operator.name)
    has_padding = any(f.name == "padding" for f in operator.fields())
    return int(match[1]) if match and has_padding and not operator.name.endswith("pool2d_grad") else 0


def _both_sides(value: Any, rank: int, name: str) -> tuple[Any, ...]:
    """Padding before and after every axis, of one number, one for each axis, or one for each side."""
    if isinstance(value, int):
        return (value,) * (2 * rank)
    if isinstance(value, tuple | list) and len(value) in (1, rank, 2 * rank):
        values = tuple(value) * (rank if len(value) == 1 and rank > 1 else 1)
        return values * (2 if len(values) == rank else 1)
    raise TypeError(f"padding of {name} is a number, or a list of {rank} or {2 * rank}, not {value!r}")


def _signature(operator: type[Operator]) -> tuple[inspect.Signature, dict[str, str]]:
    """The parameters with their defaults, and the input or attribute that each stands for where its name differs."""
    defaults: dict[str, Any] = dict.fromkeys(operator.arguments[: operator.arity], _REQUIRED)
    for f in operator.fields():
        usual = f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default
        defaults.setdefault(f.name, _REQUIRED if usual is dataclasses.MISSING else usual)
    if _spatial_rank(operator):
        defaults["padding"] = 0
    target: dict[str, str] = {}
    if operator.name in SIGNATURES:
        order: dict[str, Any] = {}
        for name, of, default in SIGNATURES[operator.name]:
            order[name] = defaults.get(of, _REQUIRED) if default is _REQUIRED else default
            target[name] = of
        last = max((i for i, d in enumerate(order.values()) if d is _REQUIRED), default=0)
        order = {n: _REQUIRED if i < last else d for i, (n, d) in enumerate(order.items())}
        rest = {n: d for n, d in defaults.items() if n not in target.values()}
        defaults = {**order, **{n: d for n, d in rest.items() if d is not _REQUIRED}}
    parameters = []
    optional = False
    for name, default in defaults.items():
        optional = optional or default is not _REQUIRED
        # A required argument after an optional one can only be given by name.
        by_name = optional and default is _REQUIRED
        kind = inspect.Parameter.KEYWORD_ONLY if by_name else inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(name, kind, default=default))
    parameters.sort(key=lambda p: p.kind)
    return inspect.Signature(parameters), target

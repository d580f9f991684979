"""The definition of an operator: one class that carries its attributes and all of its meaning.

An operator is a frozen dataclass. Its fields are its attributes, in TVM's order and with TVM's defaults (a
field without default is required and always printed); an *instance* is the `attrs` of a call. Its methods are its
meaning::

    @operator("nn.leaky_relu", "data", pattern=Pattern.ELEMWISE)
    @dataclass(frozen=True)
    class LeakyRelu(Operator):
        '''`x` where positive, `alpha * x` elsewhere.'''

        alpha: float

        def relate(self, types, reporter):                  # type rule, in both directions
            return identity(types, reporter)

        def evaluate(self, x):                              # numpy reference
            return np.where(x > 0, x, x.dtype.type(self.alpha) * x)

        def compute(self, inputs, out_type):                # tensor expression
            (x,) = inputs
            return te.compute(x.shape, lambda *i: te.select(x[i] > 0, x[i], x[i] * self.alpha))
"""

from __future__ import annotations

import dataclasses
import inspect
import reprlib
import types as pytypes
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NewType, Protocol, TypeGuard, TypeVar

from ..diagnostics import IrError, Span, nearest
from ..ir import Call, Expr, FuncType, Op, Type
from ..ir import TypeVar as RelayTypeVar
from ..ir.boxed_attributes import BOXED
from ..ir.dims import ANY, Dim, DimExpr, DimVar, Int64
from ..ir.dtypes import read_dtype
from ..ir.meta import MetaNode, VirtualDevice
from ..plugin import Plugin, Registry, type_hints
from ..plugin.mistakes import adopt, refuse
from ..plugin.origin import is_outside
from .errors import RelationError as RelationError
from .facts import Facts, wrong_fact
from .habits import attribute_missing, other_name, value_meant
from .mistakes import MissingAttribute, UnknownAttribute, WrongAttribute
from .pattern import Pattern as Pattern
from .plugin_checks import check_class, missing, wrong_expression, wrong_type, wrong_value

DType = NewType("DType", str)
"""A dtype attribute: `"float32"`; the empty string where TVM leaves it void."""

VOID = DType("")
"""No dtype given; the operator's docstring states the default."""


class Reporter(Protocol):
    """The actions of a type rule beside returning the result's type."""

    def assign(self, index: int, type: Type) -> None:
        """Unifies the type of argument `index` with `type` (this is how weights get their types).

        Where the argument has a `?`, that does not widen what else was given the same object: see `unify` for that.
        """

    def unify(self, a: Type, b: Type) -> Type:
        """Unifies two types; raises RelationError if they differ."""

    def argument(self, index: int) -> Expr | None:
        """The argument's expression, where inference has it at hand (rules that need a constant's value)."""

    @property
    def out(self) -> Type:
        """The known part of the result's type so far (an IncompleteType if nothing is known)."""

    def require_elements(self, extents: Sequence[Dim], results: Sequence[Dim], message: str, least: int = 1) -> None:
        """Requires `least` elements along axes of these extents, for a result that has the extents `results` and none of them 0.

        Raises RelationError with the message if an axis surely has fewer. Extents that a run decides are compared by the run, which
        ends with an error.
        """


class Operator(Facts, Plugin):
    """Base of all operators. See the module's docstring for an example, and `facts` for the facts that passes read.

    Class attributes:
        arguments: names of the inputs, in order.
        arity: how many of the arguments a call gives. Fewer than there are names where TVM documents attributes as
            arguments, too.
        variadic: True where the number of arguments is not fixed (the arity is then not checked).
        pattern: fusion pattern; None if TVM registers none (which counts as opaque).
        stateful: True if two calls with the same inputs may differ (never merged or removed).
        support_level: TVM's documentation level, 1 (basic) to 10.
        attrs_name: name of TVM's attribute class, `relay.attrs.Conv2DAttrs`, used in metadata; empty if it has none.
        declares_attrs: False where TVM's operator takes attributes without declaring them, so that its printer
            writes `meta[relay.attrs.X][0]` in their place.
        vendor: whose operator it is, where no meaning can be given outside of that ("PyTorch"); running and building such
            a call are errors that say so.
        since: the first version of TVM that has the operator, "0.10" standing for all up to that.
        until: the last version that has it; empty if the last of Relay, 0.19, does.
        cases: calls with what they must give, one a line (`ops.cases`); others stand in the file beside the module.
        later_arguments: other lists of arguments that a call may have, as later versions do; the number decides.
    """

    _kind = "operator"
    _checks = MappingProxyType({"relate": wrong_type, "evaluate": wrong_value, "compute": wrong_expression})
    _refusals = (RelationError,)
    arguments: ClassVar[tuple[str, ...]] = ()
    arity: ClassVar[int] = 0
    variadic: ClassVar[bool] = False
    stateful: ClassVar[bool] = False
    support_level: ClassVar[int] = 10
    attrs_name: ClassVar[str] = ""
    declares_attrs: ClassVar[bool] = True
    vendor: ClassVar[str] = ""
    since: ClassVar[str] = "0.10"
    until: ClassVar[str] = ""
    later_arguments: ClassVar[tuple[tuple[str, ...], ...]] = ()
    cases: ClassVar[str] = ""

    def __getitem__(self, name: str) -> Any:
        """The attribute of that name, as TVM's scripts write it: `call.attrs["strides"]`. Raises KeyError for an unknown one."""
        names = self.keys()
        if name not in names:
            help = nearest(name, names) if isinstance(name, str) else ""
            raise KeyError(f"{self.name} has no attribute {name!r}" + (f": {help}" if help else ""))
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    @classmethod
    def keys(cls) -> list[str]:
        """The names of the attributes, in order."""
        return [f.name for f in cls.fields()]

    @property
    def result_device(self) -> Any:
        """The `VirtualDevice` that the attributes put the result on, or None if they do not."""
        return None

    @classmethod
    def attributes_of_version(cls, attributes: dict[str, Any], version: tuple[int, ...]) -> dict[str, Any]:
        """Attributes that a text of that version of TVM gives, as 0.10 would give them: where meanings have changed."""
        return attributes

    @classmethod
    def takes(cls, count: int) -> bool:
        """True if a call may have that many arguments."""
        return cls.variadic or count == cls.arity or any(count == len(names) for names in cls.later_arguments)

    @classmethod
    def names_of_arguments(cls, count: int) -> tuple[str, ...]:
        """Names of the arguments of a call with `count` of them; empty for arguments without names."""
        lists = (cls.arguments[: cls.arity], *cls.later_arguments)
        return next((names for names in lists if len(names) == count), ())

    @classmethod
    def explain_rule(cls) -> str:
        """The manual of the type rule: the docstring of the operator's own `relate`, or of the nearest family's."""
        for owner in cls.__mro__:
            relate = owner.__dict__.get("relate")
            if relate is not None and relate.__doc__ and owner is not Operator:
                return inspect.cleandoc(relate.__doc__)
        return ""

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the result, or None if the arguments' types do not decide it yet.

        `types` are the argument types as far as they are known (`IncompleteType` where nothing is). Raises RelationError,
        with a sentence that names the axis and both values, where the rule refuses.
        """
        raise NotImplementedError(f"{self.name} has no type rule")

    def deduce_shapes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        """Further known extents of arguments and result, deduced in both directions.

        Partial inference asks while `relate` decides nothing: see `ops.partial`, which says what a partly known shape is.
        """
        from .partial import tie_shapes

        return tie_shapes(args, out, self.arguments, self.one_shape)

    def deduce_dtypes(self, args: Sequence[Any], out: Any) -> tuple[list[Any], Any]:
        """Further known dtypes, as `deduce_shapes` deduces extents."""
        from .partial import tie_dtypes

        declared = getattr(self, self.dtype_attribute) if self.dtype_attribute else ""
        if not declared:
            return tie_dtypes(args, out, self.arguments, self.one_dtype)
        return tie_dtypes(args, None, self.arguments, [n for n in self.one_dtype if n != "result"])[0], declared

    def presume_dtypes(self, args: Sequence[Any], out: Any) -> list[Any]:
        """The dtypes of the arguments as they are in all but odd programs, though the type rule would allow others.

        Partial inference asks for it when nothing more is certain.
        """
        return list(args)

    def typical(self, types: Sequence[Type | None], out: Type | None, hint: Any) -> Sequence[Any]:
        """Typical values of the arguments (`ops.typical`), one or None for each; a list for a tuple's fields.

        Random values are made so. `hint` is what is wanted of the result: operators that move values want it of the first
        argument.
        """
        return (hint,) if self.reshapes or self.pattern in (Pattern.INJECTIVE, Pattern.BROADCAST) else ()

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """The numpy reference: arrays in, an array (or a tuple of arrays) out; a tuple argument is a Python tuple."""
        raise NotImplementedError(
            self._no_meaning() or f"{self.name} has no reference{missing(type(self), 'evaluate')}"
        )

    def compute(self, inputs: Sequence[Any], out_type: Type) -> Any:
        """The tensor expression (or a list of them, one per result); `inputs` are `te.Tensor`s, tuples flattened."""
        lacks = missing(type(self), "compute")
        raise NotImplementedError(self._no_meaning() or f"{self.name} cannot be compiled to C{lacks}")

    @classmethod
    def _no_meaning(cls) -> str:
        """Why a vendor's operator cannot be run; empty for other operators."""
        if not cls.vendor:
            return ""
        return f"{cls.name} is an operator of {cls.vendor}; irtool reads, checks and prints it, but cannot run it"

    @classmethod
    def make(cls, attributes: Mapping[str, Any] | None = None, span: Span | None = None) -> Operator:
        """An instance with these attributes, checked and coerced. Raises IrError at `span` where one is wrong."""
        attributes = attributes or {}
        if not attributes:
            cached = cls.__dict__.get("_default_instance")
            if cached is not None:
                return cached
        known = {f.name for f in cls.fields()}
        hints = type_hints(cls)
        values = {}
        for key, value in attributes.items():
            if key not in known:
                have = f"it has {', '.join(f.name for f in cls.fields())}" if known else "it has none"
                raise IrError(
                    f"{cls.name} has no attribute {key} ({have})",
                    span,
                    help=other_name(key, known),
                    code=UnknownAttribute,
                )
            try:
                values[key] = coerce(value, hints[key])
                is_plain = type(None) not in typing.get_args(hints[key]) and key not in BOXED.get(cls.attrs_name, ())
                if is_plain and _is_symbolic(values[key]):
                    raise TypeError(f"expected a number, not {_show(value)}")
            except (TypeError, ValueError, OverflowError) as error:
                help = value_meant(key, value, typing.get_origin(hints[key]) is tuple, hints[key] is DType)
                raise IrError(f"attribute {key} of {cls.name}: {error}", span, help=help, code=WrongAttribute) from None
        missing = [f.name for f in cls.fields() if f.name not in values and _required(f)]
        if missing:
            help = attribute_missing(missing)
            raise IrError(f"{cls.name} needs the attribute {missing[0]}", span, help=help, code=MissingAttribute)
        result = cls(**values)
        if not attributes:
            cls._default_instance = result  # type: ignore[attr-defined]  # noted on the class
        return result


def _required(field: Any) -> bool:
    import dataclasses

    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


operators: Registry[type[Operator]] = Registry("operator", "irtool.ops")
"""Every operator by name."""

O = TypeVar("O", bound=type[Operator])


def operator(
    name: str,
    *arguments: str,
    pattern: Pattern | None = None,
    attrs: str = "",
    level: int = 10,
    stateful: bool = False,
    variadic: bool = False,
    declares_attrs: bool = True,
    vendor: str = "",
    arity: int | None = None,
    override: bool = False,
) -> Callable[[O], O]:
    """Class decorator: registers an operator under its name with the names of its arguments.

    `attrs` is TVM's attribute class without `relay.attrs.` (`Conv2DAttrs`), `level` its support level. `override` lets
    an operator from outside take the place of the one that has the name.
    """

    def file(cls: O) -> O:
        cls.arguments = arguments
        cls.arity = len(arguments) if arity is None else arity
        cls.pattern = pattern
        cls.stateful = stateful
        cls.variadic = variadic
        cls.support_level = level
        # Operators that TVM lacks have the key that their class would have, so that metadata sections hold their attributes.
        cls.attrs_name = f"relay.attrs.{attrs or cls.__name__ + 'Attrs'}" if attrs or (vendor and cls.fields()) else ""
        cls.declares_attrs = declares_attrs
        cls.vendor = vendor
        if is_outside(cls):
            adopt(cls, operators.kind, name)
            check_class(cls, Operator)
            if wrong := wrong_fact(cls, {f.name for f in cls.fields()}):
                raise refuse(cls, f"the class {wrong}")
        operators.register(name, override=override)(cls)
        return cls

    return file


class OperatorType(FuncType):
    """The type of an operator as a value: a function of any types, which the operator's rule relates."""

    __slots__ = ("operator",)

    def __init__(self, operator: type[Operator]) -> None:
        inputs = tuple(RelayTypeVar(f"in{i}") for i in range(0 if operator.variadic else operator.arity))
        result = RelayTypeVar("out")
        super().__init__(inputs, result, (*inputs, result))
        self.operator = operator


def operator_of(type: Type) -> type[Operator] | None:
    """The operator whose type this is, or None."""
    return type.operator if isinstance(type, OperatorType) else None


_OPS: dict[str, Op] = {}


def _forget(name: str) -> None:
    _OPS.pop(name, None)


operators.replaced.append(_forget)


def op(name: str) -> Op:
    """The `Op` node of that operator: one object per name. Raises UsageError for an unknown one."""
    result = _OPS.get(name)
    if result is None:
        cls = operators.get(name)
        result = _OPS[name] = Op(name, cls, None, OperatorType(cls))
    return result


def attributes_of(attrs: Any, *without: str, **changes: Any) -> dict[str, Any]:
    """The attributes of a call by name, as `call` takes them: without some of them, and with others in their place."""
    return {f.name: getattr(attrs, f.name) for f in dataclasses.fields(attrs) if f.name not in without} | changes


def call(name: str, /, *args: Expr, span: Span | None = None, **attributes: Any) -> Call:
    """A call of an operator, as passes write it: `call("nn.dense", x, w, units=10)`."""
    node = op(name)
    return Call(node, args, node.operator.make(attributes), (), span)


def is_call_to(e: Expr, *names: str) -> TypeGuard[Call]:
    """True if `e` is a call of one of these operators."""
    return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name in names


def called_operator(e: Expr) -> type[Operator] | None:
    """The operator that is called; None if none is."""
    return e.op.operator if isinstance(e, Call) and isinstance(e.op, Op) else None


def operator_name(e: Expr) -> str:
    """The name of the operator that is called; empty where none is."""
    return e.op.name if isinstance(e, Call) and isinstance(e.op, Op) else ""


def coerce(value: Any, hint: Any) -> Any:
    """`value` as the kind of attribute that `hint` names; TypeError or ValueError with a sentence where it is another.

    Kinds: `int`, `float`, `bool`, `str`, `DType`, `VirtualDevice`, `tuple[X, ...]`, `X | None`, `dict`, and `Any` (taken as
    it is). Integers are accepted for floats and bools, and 0/1 bools for integers, as TVM's reader does; so is, for anything
    but a device, a record that the text does not hold: of a device that it does not hold the reader makes a `VirtualDevice`.
    """
    if hint is Any or hint is object:
        return value
    origin = typing.get_origin(hint)
    if (
        value.__class__ is MetaNode
        and value.missing is not None
        and VirtualDevice not in (hint, *typing.get_args(hint))
    ):
        return value
    if origin in (typing.Union, pytypes.UnionType):
        return _coerce_to_one(value, typing.get_args(hint))
    if origin is tuple:
        item = typing.get_args(hint)[0]
        if isinstance(value, tuple | list):
            return tuple(coerce(v, item) for v in value)
        raise TypeError(f"expected a list, not {_show(value)}")
    if hint is DType:
        if value is None or value == "":
            return ""
        if isinstance(value, str) and (value == "void" or read_dtype(value) is not None):
            return read_dtype(value) or value
        raise ValueError(f"{_show(value)} is not a dtype")
    if hint is bool:
        if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
            return bool(value)
        raise TypeError(f"expected True or False, not {_show(value)}")
    if hint is int:
        if isinstance(value, bool):
            return int(value)
        if isinstance(value, int | DimVar | DimExpr) or value is ANY:
            return value
        raise TypeError(f"expected an integer, not {_show(value)}")
    if hint is float:
        if isinstance(value, bool):
            return float(value)
        if isinstance(value, int | float):
            return float(value)
        raise TypeError(f"expected a number, not {_show(value)}")
    if hint is str:
        if isinstance(value, str):
            return value
        raise TypeError(f"expected a string, not {_show(value)}")
    if hint is dict or origin is dict:
        if isinstance(value, Mapping):
            return dict(value)
        raise TypeError(f"expected a dictionary, not {_show(value)}")
    if hint is VirtualDevice and not isinstance(value, VirtualDevice):
        raise TypeError(f"expected a VirtualDevice, not {_show(value)}")
    return value


def _coerce_to_one(value: Any, options: tuple[Any, ...]) -> Any:
    """`value` as the first of these kinds that takes it; the error of the last one where none does."""
    if value is None:
        if type(None) in options:
            return None
        raise TypeError("must not be None")
    error: Exception = TypeError("no value fits")
    for option in options:
        if option is not type(None):
            try:
                return coerce(value, option)
            except (TypeError, ValueError) as e:
                error = e
    raise error


def _is_symbolic(value: Any) -> bool:
    return value is ANY or isinstance(value, DimVar | DimExpr)


def is_unknown(value: Any) -> bool:
    """True if an attribute is, or lists, an extent that is known only when the program runs."""
    return any(map(is_unknown, value)) if isinstance(value, tuple) else _is_symbolic(value)


def _show(value: Any) -> str:
    if isinstance(value, Int64):
        return f"{int(value)}i64"
    if isinstance(value, str):
        return f'"{value}"'
    return reprlib.repr(value)  # which looks a few levels deep only


__all__ = [
    "VOID",
    "DType",
    "Operator",
    "Pattern",
    "RelationError",
    "Reporter",
    "call",
    "coerce",
    "is_call_to",
    "op",
    "operator",
    "operators",
]

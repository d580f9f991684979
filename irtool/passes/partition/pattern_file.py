"""Dataflow patterns as text, for `MergeComposite`.

A pattern file is written in the notation of TVM's pattern language, which is Python's, and has statements of two kinds::

    x, w, b = wildcard(), wildcard(), is_constant()                   # names for parts
    conv = is_op("nn.conv2d")(x, w).has_attr(groups=1)
    act = lambda y: is_op("nn.relu")(y) | is_op("clip")(y)
    pattern("npu.conv2d_act", act(is_op("nn.bias_add")(conv, b)))     # a composite function of that name

What there is to build patterns from:

    wildcard()   is_constant()   is_var("x")   is_op("nn.relu")   is_expr("2f")   is_call(op)   is_call(op, [a, b])
    is_tuple()   is_tuple([a, b])   is_tuple_get_item(t)   is_tuple_get_item(t, 0)   is_if(c, t, f)   is_let(v, e, b)
    is_function([params], body)   dominates(parent, path, child)   has_type("Tensor[(1, 8), float32]")   has_shape([1, 8])
    has_dtype("float32")   has_attr(p, {"groups": 1})
    p(a, b)   a + b   a - b   a * b   a / b   a | b   p.has_attr(groups=1)   p.has_type(…)   p.has_shape(…)   p.has_dtype(…)
    p.optional(lambda y: …)   p.dominates(parent, path)

A part that is used twice must match the same node both times. Nothing of Python beyond this is understood: a file of
patterns runs no code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from ...diagnostics import IrError, Source, Span, nearest
from ...trampoline import trampoline
from .. import dataflow
from ..dataflow import DFPattern, FunctionPattern
from ..dataflow.patterns import post_order

_MOST_STEPS = 50_000
_DEEPEST = 200
"""Nesting allowed in a pattern: matching it takes that many calls inside each other."""


def read_patterns(text: str, filename: str = "<patterns>") -> list[tuple[str, DFPattern]]:
    """The patterns of a file with their names, in order. Raises IrError with the place where it makes no sense."""
    source = Source(filename, text)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        offset = _offset(text, error.lineno or 1, 0) + max((error.offset or 1) - 1, 0)
        raise IrError(f"not a pattern file: {error.msg}", Span(source, offset, offset + 1)) from None
    except (RecursionError, MemoryError):
        raise IrError(f"{filename} is nested too deeply", help="give names to parts") from None
    except ValueError as error:
        raise IrError(f"{filename} is no pattern file: {error}") from None
    reader = _Reader(source)
    for statement in tree.body:
        trampoline(reader.statement(statement))
    return reader.patterns


@dataclass
class _Macro:
    """A `lambda`, with the names that it sees."""

    params: list[str]
    body: ast.expr
    names: Mapping[str, Any]


Step = Generator[Any, Any, Any]


class _Reader:
    """Evaluates a file. Its methods are generators for a trampoline: an expression may be as long as it likes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.names: dict[str, Any] = {}
        self.patterns: list[tuple[str, DFPattern]] = []
        self.steps = 0

    def fail(self, node: ast.AST, message: str, **extra: Any) -> IrError:
        return IrError(message, self._span(node), **extra)

    def _span(self, node: ast.AST) -> Span:
        start = _offset(self.source.text, node.lineno, node.col_offset)  # type: ignore[attr-defined]  # nodes that were parsed have places
        end = _offset(self.source.text, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]  # nodes that were parsed have places
        return Span(self.source, start, end)

    def statement(self, node: ast.stmt) -> Step:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            value = yield self.value(node.value, self.names)
            self._bind(node.targets[0], value)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        elif isinstance(node, ast.Expr) and _is_declaration(node.value):
            yield self._declare(node.value)
        else:
            raise self.fail(node, "expected name = … or pattern(name, …)")

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            if target.id in _FUNCTIONS or target.id == "pattern":
                raise self.fail(target, f"{target.id} has a meaning of its own")
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple) and all(isinstance(t, ast.Name) for t in target.elts):
            if not isinstance(value, list | tuple) or len(value) != len(target.elts):
                have = f"{len(value)} values" if isinstance(value, list | tuple) else "one value"
                raise self.fail(target, f"there are {len(target.elts)} names for {have}")
            for t, v in zip(target.elts, value, strict=True):
                self._bind(t, v)
        else:
            raise self.fail(target, "expected a name")

    def _declare(self, node: ast.Call) -> Step:
        if node.keywords or len(node.args) != 2:
            raise self.fail(node, "write pattern(name, …) with the name of the composite function and its pattern")
        name = yield self.value(node.args[0], self.names)
        pattern = yield self.value(node.args[1], self.names)
        if not isinstance(name, str) or not name:
            raise self.fail(node.args[0], "the name of the composite function is to be a string")
        if not isinstance(pattern, DFPattern):
            raise self.fail(node.args[1], f"{_describe(pattern)} is no pattern")
        if _depth(pattern) > _DEEPEST:
            raise self.fail(node.args[1], f"the pattern is nested more than {_DEEPEST} deep")
        self.patterns.append((name, pattern))

    def value(self, node: ast.expr, names: Mapping[str, Any]) -> Step:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise self.fail(node, "the file never comes to an end")
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in names:
                if node.id in _FUNCTIONS:
                    return _FUNCTIONS[node.id]
                raise self.fail(node, f"{node.id} is not defined", help=nearest(node.id, (*names, *_FUNCTIONS)))
            return names[node.id]
        if isinstance(node, ast.List | ast.Tuple):
            items = []
            for item in node.elts:
                items.append((yield self.value(item, names)))
            return items
        if isinstance(node, ast.Dict) and all(k is not None for k in node.keys):
            entries = {}
            for k, v in zip(node.keys, node.values, strict=True):
                key = yield self.value(k, names)  # type: ignore[arg-type]  # None was ruled out
                if not isinstance(key, str):
                    raise self.fail(node, "the keys of a dictionary are to be strings")
                entries[key] = yield self.value(v, names)
            return entries
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            number = yield self.value(node.operand, names)
            if not isinstance(number, int | float):
                raise self.fail(node, f"{_describe(number)} has no negative")
            return -number
        if isinstance(node, ast.BinOp):
            return (yield self._binary(node, names))
        if isinstance(node, ast.Lambda):
            return self._macro(node, names)
        if isinstance(node, ast.Call):
            return (yield self._call(node, names))
        raise self.fail(node, "this is not part of the notation of patterns")

    def _binary(self, node: ast.BinOp, names: Mapping[str, Any]) -> Step:
        combine = _BINARY.get(node.op.__class__)
        if combine is None:
            raise self.fail(node, "patterns are combined with + - * / and |")
        sides = []
        for side in (node.left, node.right):
            p = yield self.value(side, names)
            if not isinstance(p, DFPattern):
                raise self.fail(side, f"{_describe(p)} is no pattern")
            sides.append(p)
        return combine(*sides)

    def _macro(self, node: ast.Lambda, names: Mapping[str, Any]) -> _Macro:
        a = node.args
        if a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg or a.defaults:
            raise self.fail(node, "a lambda has plain parameters only")
        return _Macro([p.arg for p in a.args], node.body, dict(names))

    def _call(self, node: ast.Call, names: Mapping[str, Any]) -> Step:
        args: list[Any] = []
        for a in node.args:
            args.append((yield self.value(a, names)))
        keywords: dict[str, Any] = {}
        for k in node.keywords:
            if k.arg is None:
                raise self.fail(node, "** is not part of the notation of patterns")
            keywords[k.arg] = yield self.value(k.value, names)
        if isinstance(node.func, ast.Attribute):
            owner = yield self.value(node.func.value, names)
            return (yield self._method(node, node.func.attr, owner, args, keywords))
        called = yield self.value(node.func, names)
        if isinstance(called, DFPattern | _Macro):
            if keywords:
                raise self.fail(node, "attributes go into .has_attr(…)")
            return (yield self._apply(node, called, args))
        if callable(called):
            return self._build(node, called, args, keywords)
        raise self.fail(node.func, f"{_describe(called)} cannot be called")

    def _apply(self, node: ast.AST, called: Any, args: list[Any]) -> Step:
        """A pattern called with patterns is a pattern of a call; a lambda stands for its body."""
        if isinstance(called, _Macro):
            if len(called.params) != len(args):
                raise self.fail(node, f"the lambda has {len(called.params)} parameters, not {len(args)}")
            return (yield self.value(called.body, {**called.names, **dict(zip(called.params, args, strict=True))}))
        for a in args:
            if not isinstance(a, DFPattern):
                raise self.fail(node, f"{_describe(a)} is no pattern")
        return called(*args)

    def _method(self, node: ast.Call, name: str, owner: Any, args: list[Any], keywords: dict[str, Any]) -> Step:
        if not isinstance(owner, DFPattern):
            raise self.fail(node, f"{_describe(owner)} has no {name}")
        if name == "optional" and len(args) == 1 and not keywords:
            wrapped = yield self._apply(node, self._callable(node, args[0]), [owner])
            return owner | self._pattern(node, wrapped)
        if name == "dominates" and len(args) in (1, 2) and not keywords:
            return owner.dominates(*(self._pattern(node, a) for a in args))
        if name == "has_attr" and not args:
            return owner.has_attr(**keywords)
        if name in _TYPED and len(args) == 1 and not keywords:
            return self._build(node, _FUNCTIONS[name], [args[0], owner], {})
        known = ("optional", "dominates", "has_attr", *_TYPED)
        if name in known:
            raise self.fail(node, f"wrong arguments for {name}", help=_manual(name))
        raise self.fail(node, f"a pattern has no {name}", help=nearest(name, known))

    def _build(self, node: ast.Call, build: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Any:
        try:
            return build(*args, **keywords)
        except IrError as error:
            first = error.diagnostics[0]
            raise self.fail(node, first.message, help=first.help) from None
        except (TypeError, ValueError):
            name = next((n for n, f in _FUNCTIONS.items() if f is build), "it")
            raise self.fail(node, f"wrong arguments for {name}", help=_manual(name)) from None

    def _pattern(self, node: ast.AST, value: Any) -> DFPattern:
        if not isinstance(value, DFPattern):
            raise self.fail(node, f"{_describe(value)} is no pattern")
        return value

    def _callable(self, node: ast.AST, value: Any) -> Any:
        if not isinstance(value, DFPattern | _Macro):
            raise self.fail(node, f"{_describe(value)} cannot be called")
        return value


def _is_declaration(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "pattern"


def _offset(text: str, line: int, column: int) -> int:
    """The character offset of a line and of a column in UTF-8 bytes."""
    lines = text.splitlines(keepends=True)
    before = sum(map(len, lines[: line - 1]))
    here = lines[line - 1] if line <= len(lines) else ""
    return before + len(here.encode()[:column].decode(errors="ignore"))


def _depth(root: DFPattern) -> int:
    depths: dict[DFPattern, int] = {}
    for p in post_order(root):
        depths[p] = 1 + max((depths[q] for q in p.parts()), default=0)
    return depths[root]


def _describe(value: Any) -> str:
    if isinstance(value, _Macro):
        return "a lambda"
    if isinstance(value, DFPattern):
        return "a pattern"
    return "a function" if callable(value) else repr(value)


def _part(value: Any) -> DFPattern:
    if not isinstance(value, DFPattern):
        raise TypeError
    return value


def _parts(values: Any) -> list[DFPattern]:
    if not isinstance(values, list):
        raise TypeError
    return [_part(v) for v in values]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _is_expr(text: str) -> DFPattern:
    from ...parser import parse_expr

    return dataflow.is_expr(parse_expr(_text(text), "is_expr"))


def _has_type(text: str, p: DFPattern | None = None) -> DFPattern:
    from ...parser import read_type

    type_ = read_type(_text(text))
    if type_ is None:
        raise ValueError
    return dataflow.has_type(type_, p)


def _has_shape(shape: list[int], p: DFPattern | None = None) -> DFPattern:
    if not isinstance(shape, list) or not all(isinstance(d, int) for d in shape):
        raise TypeError
    return dataflow.has_shape(shape, p)


def _is_call(op: DFPattern, args: list[DFPattern] | None = None) -> DFPattern:
    return dataflow.is_call(_part(op), None if args is None else _parts(args))


def _is_function(params: list[DFPattern] | None, body: DFPattern) -> DFPattern:
    return FunctionPattern(None if params is None else tuple(_parts(params)), _part(body))


def _is_tuple_get_item(whole: DFPattern, index: int | None = None) -> DFPattern:
    if index is not None and not isinstance(index, int):
        raise TypeError
    return dataflow.is_tuple_get_item(_part(whole), index)


_FUNCTIONS: Mapping[str, Callable[..., DFPattern]] = {
    "wildcard": lambda: dataflow.wildcard(),
    "is_constant": lambda: dataflow.is_constant(),
    "is_var": lambda name="": dataflow.is_var(_text(name)),
    "is_op": lambda name: dataflow.is_op(_text(name)),
    "is_expr": _is_expr,
    "is_call": _is_call,
    "is_function": _is_function,
    "is_tuple": lambda fields=None: dataflow.is_tuple(None if fields is None else _parts(fields)),
    "is_tuple_get_item": _is_tuple_get_item,
    "is_if": lambda c, t, f: dataflow.is_if(_part(c), _part(t), _part(f)),
    "is_let": lambda v, e, b: dataflow.is_let(_part(v), _part(e), _part(b)),
    "dominates": lambda parent, path, child: dataflow.dominates(_part(parent), _part(path), _part(child)),
    "has_attr": lambda p, attrs: dataflow.has_attr(_part(p), dict(attrs)),
    "has_type": _has_type,
    "has_shape": _has_shape,
    "has_dtype": lambda dtype, p=None: dataflow.has_dtype(_text(dtype), p),
}
_TYPED = ("has_type", "has_shape", "has_dtype")
_BINARY: Mapping[type, Callable[[Any, Any], DFPattern]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.BitOr: lambda a, b: a | b,
}


def _manual(name: str) -> str:
    """The notation of a function or a method, from the table above."""
    shown = [w for line in (__doc__ or "").split("\n") if line.startswith("    ") for w in line.split("   ") if w]
    fitting = [w.strip() for w in shown if w.strip().startswith((f"{name}(", f"p.{name}("))]
    return f"write {' or '.join(fitting)}" if fitting else ""

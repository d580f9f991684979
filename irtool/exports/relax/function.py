"""One function of Relay, in A-normal form, as a Relax function."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...ir import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    If,
    Let,
    Match,
    MissingData,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    TupleType,
    Type,
    Var,
)
from ...ir.types import has_static_shapes
from ...ir.walk import use_counts
from .forms import NoForm, RelaxSite, forms
from .literals import Text, invocation, parenthesized
from .names import ScriptNames
from .program import Program
from .statements import Bind, Branch, Return, Statement, lines_of
from .tirscript import DEEPEST
from .types import is_settled, type_text, why_not
from .values import Lifted, Value

_MADE_UP = re.compile(r"x_\d+$")
"""What ToANormalForm calls values."""

_WITHOUT_FORM: dict[type, tuple[str, str]] = {
    RefCreate: ("a reference", "Relax has no mutable cells"),
    RefRead: ("a reference", "Relax has no mutable cells"),
    RefWrite: ("a reference", "Relax has no mutable cells"),
    Match: ("match", "Relax has no algebraic data types"),
    Constructor: ("a constructor", "Relax has no algebraic data types"),
    Op: ("an operator as a value", "closures of Relax are of functions"),
}
_HELP = "--passes of irtool opt may remove it: PartialEvaluate, Defunctionalization"


class FunctionScript:
    """Writes one function. What it holds that Relax has no form for is noted in `program.missing`."""

    def __init__(self, program: Program, lifted: Lifted) -> None:
        self.program = program
        self.lifted = lifted
        self._names = ScriptNames()
        self._values: dict[Var, Value] = {}
        self._counts = use_counts(lifted.function.body)
        self._symbols: dict[int, str] = {}
        self._declared: dict[str, None] = {}
        self._invokes = False

    def lines(self) -> list[str]:
        """The lines of the function, not indented as a whole."""
        f = self.lifted.function
        params = [*f.params, *self.lifted.captures]
        shown = []
        for p in params:
            name = self._names.fresh(p.name)
            self._values[p] = Value(Text(name), frozenset((name,)))
            t = p.checked_type or p.type_annotation
            if self._accepts(t, p):
                assert t is not None
                shown.append(f"{name}: {type_text(t, self._symbol)}")
        if self.lifted.var is not None:
            self._values[self.lifted.var] = Value(Text(""), frozenset(), function=self.lifted)
        body: list[Statement] = []
        self._write(f.body, body)
        result = f.ret_type or f.body.checked_type
        if not self._accepts(result, f) or self.program.missing:
            return []
        assert result is not None
        out = lines_of(body, 1)
        if max(depth for depth, _ in out) > DEEPEST:
            reason = "Python cannot be indented so deeply"
            self.program.missing.add("an if inside of some ninety others", reason, f.span)
            return []
        texts = ["    " * depth + text for depth, text in out]
        texts[:0] = [f"    {name} = T.int64()" for name in self._declared]
        if self._invokes:  # TVM does not know the effects of closures; functions of Relay without references are pure
            texts.insert(0, '    R.func_attr({"relax.force_pure": True})')
        if any("cls." in text for text in texts):
            texts.insert(0, "    cls = Module")
        private = "" if self.lifted.is_public else "(private=True)"
        head = f"def {self.lifted.name}({', '.join(shown)}) -> {type_text(result)}:"
        return [f"@R.function{private}", head, *texts]

    # types

    def _accepts(self, t: Type | None, e: Expr) -> bool:
        """True if Relax has a form for a type; notes the parts without one."""
        if t is None:
            return True
        what, reason = why_not(t)
        if what:
            self.program.missing.add(what, reason, e.span)
        return not what

    def _symbol(self, dim: object) -> str:
        """The name of a dimension of a parameter that is no number; each `?` has one of its own."""
        from ...ir.dims import ANY, DimVar

        if dim is ANY:
            return self._names.fresh("n")
        if isinstance(dim, DimVar):
            if id(dim) not in self._symbols:
                self._symbols[id(dim)] = self._names.fresh(dim.name)
            return self._symbols[id(dim)]
        return ""

    def _declare(self, dim: object) -> str:
        """The same in the body."""
        name = self._symbol(dim)
        if name:
            self._declared[name] = None
        return name

    def _cast(self, text: str, t: Type) -> Text:
        """A value of which Relax does not know enough, as one of its type: dimensions that are not known get names."""
        return invocation("R.match_cast", Text(text), Text(type_text(t, self._declare, in_body=True)))

    # statements: the work list holds expressions, the blocks that they go to, and the names that their values get

    def _write(self, root: Expr, body: list[Statement]) -> None:
        stack: list[tuple[Expr, list[Statement], str]] = [(root, body, "")]
        while stack:
            e, block, target = stack.pop()
            while isinstance(e, Let):
                if isinstance(e.value, If):
                    name = self._names.fresh(self._hint(e.var, e.value))
                    self._values[e.var] = Value(Text(name), frozenset((name,)))
                    stack.append((e.body, block, target))
                    self._branch(e.value, block, name, stack)
                    self._name_dimensions(e.var, e.value, name, block)
                    break
                self._bind(e.var, e.value, block)
                e = e.body
            else:
                if isinstance(e, If):
                    name = target or self._names.fresh("chosen")
                    if not target:
                        stack.append((_Named(name), block, ""))
                    self._branch(e, block, name, stack)
                    continue
                text, names = (e.name, frozenset((e.name,))) if isinstance(e, _Named) else self._final(e, block)
                end = Bind(target, text, names, is_dataflow=False) if target else Return(text, names)
                block.append(end)

    def _branch(self, e: If, block: list[Statement], name: str, stack: list[tuple[Expr, list[Statement], str]]) -> None:
        cond = self._value(e.cond)
        if not cond.text.isidentifier():
            condition_name = self._names.fresh("cond")
            block.append(Bind(condition_name, cond.text, cond.uses))
            cond = Value(Text(condition_name), frozenset((condition_name,)))
        branch = Branch(cond.text)
        block.append(branch)
        stack.append((e.false_branch, branch.other, name))
        stack.append((e.true_branch, branch.then, name))

    def _name_dimensions(self, var: Var, e: Expr, name: str, block: list[Statement]) -> None:
        """Casts the value of a branch whose shape is not known: the two branches may have names for different dimensions."""
        t = e.checked_type
        if t is not None and not has_static_shapes(t) and self._accepts(t, e):
            self._emit(var, e, self._cast(name, t), frozenset((name,)), block, is_dataflow=False)

    def _final(self, e: Expr, block: list[Statement]) -> tuple[Text, frozenset[str]]:
        if not isinstance(e, Var | Constant | GlobalVar):
            var = Var("result", None, e.span, e.checked_type)
            self._bind(var, e, block)
            e = var
        value = self._value(e)
        text, names = self._text(value), self._uses(value)
        if text.isidentifier() or text.startswith("("):
            return text, names
        name = self._names.fresh("result")
        block.append(Bind(name, text, names, is_dataflow=False))
        return Text(name), frozenset((name,))

    def _hint(self, var: Var, e: Expr) -> str:
        if not _MADE_UP.match(var.name):
            return var.name
        if isinstance(e, Call) and isinstance(e.op, Op):
            return e.op.name.rpartition(".")[2]
        if isinstance(e, Call) and isinstance(e.op, GlobalVar):
            return f"{e.op.name}_result"
        if isinstance(e, Call) and isinstance(e.op, Var) and not _MADE_UP.match(e.op.name):
            return f"{e.op.name}_result"
        return {If: "chosen", TupleGetItem: "field", Tuple: "tuple"}.get(type(e), "value")

    def _bind(self, var: Var, e: Expr, block: list[Statement]) -> None:
        """Binds a value that is no `if`, with a statement where it needs one."""
        if isinstance(e, Var | GlobalVar):
            self._values[var] = self._value(e)
        elif isinstance(e, Constant):
            self._values[var] = self.program.constants[var] = self._constant(e)
        elif isinstance(e, Function):
            self._values[var] = Value(Text(""), frozenset(), function=self.program.lift(var, e, self.lifted))
        elif isinstance(e, TupleGetItem) and isinstance(known := self._value(e.tuple).expr, Tuple):
            self._values[var] = self._value(known.fields[e.index])
        elif isinstance(e, Tuple):
            fields = [self._value(f) for f in e.fields]
            text = Text(parenthesized([self._text(m) for m in fields]))
            value = Value(text, frozenset().union(*(self._uses(m) for m in fields)), e)
            if self._counts[var] > 1:
                value = Value(self._emit(var, e, value.text, value.uses, block), frozenset(), e)
                value = Value(value.text, frozenset((value.text,)), e)
            self._values[var] = value
        elif isinstance(e, TupleGetItem):
            source = self._value(e.tuple)
            self._emit(var, e, Text(f"{source.text}[{e.index}]"), source.uses, block)
        elif isinstance(e, Call):
            self._call(var, e, block)
        else:
            self._report(e, var)

    def _emit(
        self,
        var: Var,
        e: Expr,
        text: Text,
        used_names: frozenset[str],
        block: list[Statement],
        is_dataflow: bool = True,
    ) -> Text:
        """Binds a name to a text."""
        name = self._names.fresh(self._hint(var, e))
        t = e.checked_type
        annotation = type_text(t) if t is not None and self._accepts(t, e) and is_settled(t) else ""
        block.append(Bind(name, text, used_names, annotation, is_dataflow))
        self._values[var] = Value(Text(name), frozenset((name,)))
        return Text(name)

    def _report(self, e: Expr, var: Var, around: Expr | None = None) -> None:
        what, reason = _WITHOUT_FORM.get(type(e), (type(e).__name__, "Relax has no such expression"))
        self.program.missing.add(what, reason, (around or e).span)
        self._values[var] = Value(Text("missing"), frozenset())

    # values

    def _constant(self, e: Constant) -> Value:
        if isinstance(e.data, MissingData):
            self.program.missing.add("a constant without data", "the metadata section was cut off", e.span)
            return Value(Text("missing"), frozenset(), e)
        if not self._accepts(TensorType(e.data.shape, e.dtype), e):
            return Value(Text("missing"), frozenset(), e)
        return Value(self.program.tensors.write(e), frozenset(), e)

    def _value(self, e: Expr) -> Value:
        if isinstance(e, Var):
            return self._values.get(e) or self.program.constants[e]
        if isinstance(e, Constant):
            return self._constant(e)
        if isinstance(e, GlobalVar):
            return Value(Text(""), frozenset(), function=self.program.globals[e.name])
        if isinstance(e, Function):
            return Value(Text(""), frozenset(), function=self.program.lift(Var("fn"), e, self.lifted))
        what, reason = _WITHOUT_FORM.get(type(e), (type(e).__name__, "Relax has no such expression"))
        self.program.missing.add(what, reason, e.span)
        return Value(Text("missing"), frozenset())

    def _captured(self, lifted: Lifted) -> list[Value]:
        return [self._value(v) for v in lifted.captures]

    def _text(self, value: Value) -> Text:
        """The text of a value; of a function, its closure."""
        if value.function is None:
            return value.text
        captured = [self._text(v) for v in self._captured(value.function)]
        return Text(f"R.make_closure(cls.{value.function.name}, {parenthesized(list(captured)) if captured else '()'})")

    def _uses(self, value: Value) -> frozenset[str]:
        if value.function is None:
            return value.uses
        return frozenset().union(*(self._uses(v) for v in self._captured(value.function)))

    # calls

    def _call(self, var: Var, e: Call, block: list[Statement]) -> None:
        args = [self._value(a) for a in e.args]
        used_names = frozenset().union(*(self._uses(a) for a in args))
        texts = tuple(self._text(a) for a in args)
        if isinstance(e.op, Op):
            text = self._operator(e, args, texts)
            if text is None:
                self._values[var] = Value(Text("missing"), frozenset())
            elif text in texts and "(" not in text:
                self._values[var] = args[texts.index(text)]
            else:
                self._emit(var, e, text, used_names, block)
            return
        if not isinstance(e.op, Var | GlobalVar | Function):
            self._report(e.op, var, e)
            return
        callee = self._value(e.op)
        result = e.checked_type
        if callee.function is not None:
            captured = self._captured(callee.function)
            used_names = used_names.union(*(self._uses(v) for v in captured))
            inside = ", ".join([*texts, *(self._text(v) for v in captured)])
            text = Text(f"cls.{callee.function.name}({inside})")
            if result is not None and not has_static_shapes(result) and self._accepts(result, e):
                text = self._cast(text, result)
            self._emit(var, e, text, used_names, block, is_dataflow=False)
            return
        if result is None or not self._accepts(result, e):
            self._values[var] = Value(Text("missing"), frozenset())
            return
        # R.invoke_pure_closure would say this as well, but TVM's lowering of it forgets the type of the result.
        arguments = Text(parenthesized([callee.text, *texts]))
        invoke = invocation(
            "R.call_builtin_with_ctx", "vm.builtin.invoke_closure", arguments, ty_args=(Text(type_text(result)),)
        )
        self._invokes = True
        text = invoke if has_static_shapes(result) else self._cast(invoke, result)
        self._emit(var, e, text, used_names | callee.uses, block, is_dataflow=False)

    def _operator(self, e: Call, args: Sequence[Value], texts: tuple[Text, ...]) -> Text | None:
        """The expression of a call of an operator; None, with the reason noted, for an operator without a form."""
        assert isinstance(e.op, Op)
        values = tuple(v.expr or a for v, a in zip(args, e.args))
        reasons = []
        form = forms.find(e.op.name)
        if form is not None:
            try:
                return form().write(RelaxSite(e, texts, values))
            except NoForm as refused:
                reasons.append(str(refused))
        if any(isinstance(a.checked_type, FuncType) for a in e.args):
            self.program.missing.add(e.op.name, "it takes a function", e.span)
            return None
        try:
            leaves = [self._leaves(v, a) for v, a in zip(args, e.args)]
            return self.program.kernels.write(e, texts, leaves)
        except NoForm as refused:
            reasons.append(str(refused))
        self.program.missing.add(e.op.name, "; ".join(dict.fromkeys(reasons)), e.span)
        return None

    def _leaves(self, value: Value, e: Expr) -> list[Text]:
        """The tensors of an argument, tuples taken apart."""
        texts: list[Text] = []
        t = e.checked_type
        if t is None:
            raise NoForm("its types are not known")
        stack: list[tuple[Value, Type]] = [(value, t)]
        while stack:
            v, t = stack.pop()
            if not isinstance(t, TupleType):
                texts.append(self._text(v))
            elif isinstance(v.expr, Tuple):
                stack.extend(reversed([(self._value(f), f_type) for f, f_type in zip(v.expr.fields, t.fields)]))
            else:
                fields = [(Value(Text(f"{v.text}[{n}]"), v.uses), f) for n, f in enumerate(t.fields)]
                stack.extend(reversed(fields))
        return texts


class _Named(Expr):
    """A value that has its name already."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

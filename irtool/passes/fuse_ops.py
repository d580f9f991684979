"""FuseOps: operators become groups, each of which will be one kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..infer import infer_expr
from ..ir import (
    Call,
    Constant,
    Expr,
    Function,
    FuncType,
    Module,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    Type,
    Var,
    post_order,
    rewrite,
)
from ..ops.base import is_call_to
from .core.base import FunctionPass, register_pass
from .core.config_option import ConfigOption
from .core.context import PassContext
from .core.primitive_functions import RESHAPE_ONLY, is_finished, separate_primitives
from .effects.purity import Effects
from .fusion.graph import DataflowGraph, dataflow_graph
from .fusion.groups import Groups

MOST_FUSED = 256
"""Nodes in one group, unless `relay.FuseOps.max_depth` says otherwise."""


@register_pass(
    "FuseOps",
    level=0,
    required=("InferType",),
    config={
        "relay.FuseOps.max_depth": ConfigOption(int, MOST_FUSED, "most nodes in one group"),
        "relay.FuseOps.link_params": ConfigOption(
            bool, None, "move constants of any size into the groups; default: as the module's executor requires"
        ),
    },
)
@dataclass(frozen=True)
class FuseOps(FunctionPass):
    """Groups operators into primitive functions.

    ::

        %0 = nn.conv2d(%x, %w); %1 = add(%0, %b); nn.relu(%1)
            ⇒  fn (%p0, %p1, %p2, Primitive=1) { nn.relu(add(nn.conv2d(%p0, %p1), %p2)) }(%x, %w, %b)

    An operator is fused into its immediate post-dominator, together with all nodes in between, if their fusion patterns
    allow it; see `fusion.groups`. Scalars join the group of their user; other constants stay outside unless
    `relay.FuseOps.link_params` is set. Fusion does not cross `let`, `if`, `match` or function boundaries.

    Options:
        fuse_opt_level: 0: one function per operator; 1 and above: fuse; -1: the level of the pass context.
    """

    fuse_opt_level: int = -1

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        level = context.opt_level if self.fuse_opt_level == -1 else self.fuse_opt_level
        link = bool(context.option("relay.FuseOps.link_params", _links_params(module)))
        most = int(context.option("relay.FuseOps.max_depth", MOST_FUSED))
        return fuse(function, module, fuse_operators=level > 0, most=most, link_params=link)


def _links_params(module: Module) -> bool:
    """The module's executor may ask for constants inside the kernels."""
    executor = module.attrs.get("executor")
    options: Any = executor if isinstance(executor, dict) else getattr(executor, "attrs", None) or {}
    return bool(options.get("link-params", False))


def fuse(
    function: Function,
    module: Module | None = None,
    fuse_operators: bool = True,
    most: int = MOST_FUSED,
    link_params: bool = False,
) -> Function:
    """`function`, typed, with its operators grouped into primitive functions."""
    separate = separate_primitives(function)
    if separate is not function:
        function = infer_expr(separate, module)
    graph = dataflow_graph(function)
    groups = Groups(graph, fuse_operators, most)
    return _Fuser(function, module, graph, groups, link_params).run(function)


@dataclass
class _Kernel:
    """A primitive function in the making: parameters by the argument that each stands for."""

    params: dict[Expr, Var] = field(default_factory=dict)
    arguments: dict[Expr, Expr] = field(default_factory=dict)
    """What each argument is in the program that is fused."""

    def parameter(self, argument: Expr, type: Type | None) -> Var:
        param = self.params.get(argument)
        if param is None:
            param = self.params[argument] = Var(f"p{len(self.params)}", type, argument.span, type)
        return param


class _Fuser:
    def __init__(self, root: Function, module: Module | None, graph: DataflowGraph, groups: Groups, link: bool) -> None:
        self.root = root
        self.effects = Effects(module)
        self.index = graph.index
        self.groups = groups
        self.link_params = link
        self.kernels: dict[int, _Kernel] = {}

    def run(self, function: Function) -> Function:
        return rewrite(function, self.leave, self.enter)

    def enter(self, e: Expr) -> Expr | None:
        return e if is_finished(e) else None

    def leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(old, Call):
            return self.call(old, new)  # type: ignore[arg-type]  # `new` is `old` over its new children
        if isinstance(old, Tuple):
            return self.make_tuple(old, new)  # type: ignore[arg-type]  # `new` is `old` over its new children
        if isinstance(old, TupleGetItem):
            return self.project(old, new)  # type: ignore[arg-type]  # `new` is `old` over its new children
        return new

    def call(self, old: Call, new: Call) -> Expr:
        if not isinstance(old.op, Op) or old.op.operator.noncomputational:
            return new
        if is_call_to(old, "annotation.stop_fusion"):
            return new.args[0]
        group = self.groups.find(self.index[old])
        args = self.arguments(group, old.args, new.args)
        known = None if old.op.operator.shape_from_data else _type_over(args, old.checked_type)
        inner = Call(old.op, args, old.attrs, old.type_args, old.span, known)
        return self.kernel(group, old, inner) if group == self.index[old] else inner

    def make_tuple(self, old: Tuple, new: Tuple) -> Expr:
        group = self.groups.find(self.index[old])
        if group == self.index[old]:
            return new
        fields = self.arguments(group, old.fields, new.fields)
        return Tuple(fields, old.span, _type_over(fields, old.checked_type))

    def project(self, old: TupleGetItem, new: TupleGetItem) -> Expr:
        node_index = self.index[old]
        group = self.groups.find(node_index)
        if group == node_index and self.groups.find(self.index[old.tuple]) != group:
            # The tuple comes out of another kernel, and nothing else is done here.
            return new
        inputs = self.arguments(group, (old.tuple,), (new.tuple,))
        inner = TupleGetItem(inputs[0], old.index, old.span, _type_over(inputs, old.checked_type))
        return self.kernel(group, old, inner) if group == node_index else inner

    def arguments(self, group: int, old: tuple[Expr, ...], new: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The arguments as seen inside the group: parameters for values from other groups."""
        out: list[Expr] = []
        for was, now in zip(old, new, strict=True):
            node_index = self.index.get(was)
            if (
                node_index is None
                or self.groups.find(node_index) == group
                or (self.link_params and isinstance(now, Constant))
            ):
                out.append(now)
            else:
                kernel = self.kernels.setdefault(group, _Kernel())
                kernel.arguments.setdefault(now, was)
                out.append(kernel.parameter(now, was.checked_type))
        return tuple(out)

    def in_order(self, kernel: _Kernel) -> dict[Expr, Var]:
        """The parameters by arguments; arguments with effects come in the order in which the program evaluates them."""
        impure = [a for a, was in kernel.arguments.items() if not self.effects.is_pure(was)]
        if len(impure) < 2:
            return kernel.params
        ordered = iter(sorted(impure, key=lambda a: self.place[kernel.arguments[a]]))
        moved = {*impure}
        order = [next(ordered) if a in moved else a for a in kernel.params]
        return {a: kernel.params[a] for a in order}

    @cached_property
    def place(self) -> dict[Expr, int]:
        """The position of each expression in the order of evaluation."""
        return {e: n for n, e in enumerate(post_order(self.root))}

    def kernel(self, group: int, old: Expr, body: Expr) -> Call:
        """The call of the finished primitive function."""
        params = self.in_order(self.kernels.get(group, _Kernel()))
        has_call, reshapes = _inspect(body)
        attrs = {"Primitive": int(has_call)}
        if has_call and reshapes:
            attrs[RESHAPE_ONLY] = 1
        result = old.checked_type
        known = None
        if result is not None and body.checked_type is not None:
            known = FuncType(tuple(p.known_type for p in params.values()), result)
        function = Function(tuple(params.values()), body, result, (), attrs, old.span, known)
        return Call(function, tuple(params), span=old.span, checked_type=_type_over((function, *params), result))


def _type_over(parts: tuple[Expr, ...], type: Type | None) -> Type | None:
    """The type of a node over these parts, if all of them have theirs: inference need not look at the node again."""
    return type if all(p.checked_type is not None for p in parts) else None


def _inspect(body: Expr) -> tuple[bool, bool]:
    """True if a kernel calls anything, and true if it only reshapes one tensor."""
    has_call, reshapes = False, True
    for e in post_order(body):
        if isinstance(e, Call):
            has_call = True
            reshapes = reshapes and isinstance(e.op, Op) and e.op.operator.reshapes
        elif isinstance(e, Var):
            reshapes = reshapes and isinstance(e.type_annotation, TensorType)
    return has_call, reshapes

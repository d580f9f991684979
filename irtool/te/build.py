"""Making tensors: `placeholder`, `compute`, `extern`, and the axes of reductions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..tir.builder import Builder
from ..tir.expr import Axis, Expr, Load, Reduce, as_expr, children, post_order, rewrite, substitute
from ..tir.stmt import Buffer
from .tensor import Compute, Extern, Placeholder, Tensor


def placeholder(shape: Sequence[int], dtype: str = "float32", name: str = "placeholder") -> Tensor:
    """A tensor handed in from outside."""
    op = Placeholder(name, "", None, ())
    op.outputs = (Tensor(op, 0, shape, dtype, name),)
    return op.outputs[0]


def reduce_axis(dom: int | Sequence[int], name: str = "rv", window: bool = False) -> Axis:
    """An axis to reduce over: 0 … dom - 1, or dom[0] … dom[1] - 1. `window`: over the elements of a window, as a kernel's rows."""
    if isinstance(dom, tuple | list):
        low, high = (_static(d) for d in dom)
        return Axis(name, high - low, low, reduced=True, window=window)
    return Axis(name, _static(dom), reduced=True, window=window)


def _static(d: Any) -> int:
    value = getattr(d, "value", d)
    if not isinstance(value, int):
        raise TypeError(f"an extent must be an int, not {d!r}")
    return value


def compute(
    shape: Sequence[int] | int,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """A tensor of `shape` whose element at `(i, j, …)` is `fcompute(i, j, …)`.

    If `fcompute` returns a tuple or list, the result is a tuple of tensors, computed together. A reduction may stand
    anywhere in the formula; where it is not the whole of it, it becomes a tensor of its own. `tag` is free text for
    schedules, `attrs` too.
    """
    extents = [_static(d) for d in (shape if isinstance(shape, tuple | list) else (shape,))]
    axes = [Axis(name, extent) for name, extent in zip(_axis_names(fcompute, len(extents)), extents)]
    computed = fcompute(*axes)
    many = isinstance(computed, tuple | list)
    bodies = [as_expr(b) for b in (computed if many else (computed,))]
    if any(isinstance(b, Reduce) for b in bodies):
        whole = _same_reduction(bodies)
        if not whole or any(isinstance(e, Reduce) for b in bodies for k in children(b) for e in post_order(k)):
            bodies = _split_reductions(bodies, axes, name, keep_top=whole)
    elif any(isinstance(e, Reduce) for e in post_order(*bodies)):
        bodies = _split_reductions(bodies, axes, name, keep_top=False)
    tensors = _compute(name, tag, attrs, axes, bodies)
    return tensors if many else tensors[0]


def _axis_names(fcompute: Callable[..., Any], rank: int) -> list[str]:
    """The names of the function's parameters; where it takes any number of indices, `ax0`, `ax1`, …"""
    code = getattr(fcompute, "__code__", None)
    if code is not None:
        count = code.co_argcount - len(fcompute.__defaults__ or ())
        if count == rank:
            return list(code.co_varnames[:count])
    return [f"ax{n}" for n in range(rank)]


def _compute(name: str, tag: str, attrs: Any, axes: list[Axis], bodies: list[Expr]) -> tuple[Tensor, ...]:
    first = bodies[0]
    reduce_axes = first.axes if isinstance(first, Reduce) else ()
    op = Compute(name, tag, attrs, _tensors_read(bodies), axes, reduce_axes, bodies)
    extents = [a.extent for a in axes]
    op.outputs = tuple(
        Tensor(op, k, extents, b.dtype, name if len(bodies) == 1 else f"{name}.{k}") for k, b in enumerate(bodies)
    )
    return op.outputs


def _tensors_read(bodies: list[Expr]) -> list[Tensor]:
    return list(dict.fromkeys(e.source for e in post_order(*bodies) if isinstance(e, Load)))


def _same_reduction(bodies: list[Expr]) -> bool:
    """True if all bodies are results of one reduction."""
    first = bodies[0]
    if not isinstance(first, Reduce):
        return False
    for b in bodies[1:]:
        if not isinstance(b, Reduce) or b.reducer is not first.reducer or b.condition is not first.condition:
            return False
        if any(x is not y for x, y in zip((*b.sources, *b.axes), (*first.sources, *first.axes))):
            return False
    return True


def _split_reductions(bodies: list[Expr], axes: list[Axis], name: str, keep_top: bool) -> list[Expr]:
    """Reductions below the top become tensors over the axes (their own and those of reductions around them)."""
    reductions: dict[Any, tuple[Tensor, ...]] = {}
    tops = set(bodies) if keep_top else set()
    around = _enclosing_axes(bodies)

    def change(e: Expr) -> Expr:
        if not isinstance(e, Reduce) or e in tops:
            return e
        outer = [*axes, *around.get(tuple(map(id, e.axes)), ())]
        key = (id(e.reducer), tuple(map(id, e.sources)), id(e.condition), tuple(map(id, e.axes)))
        if key not in reductions:
            fresh = [Axis(a.name, a.extent) for a in outer]
            moved: dict[Expr, Expr] = {a: f if not a.begin else f + a.begin for a, f in zip(outer, fresh)}
            parts = [
                substitute(Reduce(e.reducer, e.sources, e.axes, e.condition, k), moved) for k in range(len(e.sources))
            ]
            first = parts[0]
            assert isinstance(first, Reduce)
            parts = [Reduce(first.reducer, first.sources, first.axes, first.condition, k) for k in range(len(parts))]
            reductions[key] = _compute(f"{name}_red", "", None, fresh, parts)
        return Load(reductions[key][e.index], tuple(a if not a.begin else a - a.begin for a in outer))

    return [rewrite(b, change) for b in bodies]


def _enclosing_axes(bodies: list[Expr]) -> dict[tuple[int, ...], tuple[Axis, ...]]:
    """For each reduction below another one: the reduction axes that it stands under."""
    result: dict[tuple[int, ...], tuple[Axis, ...]] = {}
    stack: list[tuple[Expr, tuple[Axis, ...]]] = [(b, ()) for b in bodies]
    seen: set[tuple[Expr, tuple[int, ...]]] = set()
    while stack:
        e, outer = stack.pop()
        key = (e, tuple(map(id, outer)))
        if key in seen:
            continue
        seen.add(key)
        if isinstance(e, Reduce):
            result.setdefault(tuple(map(id, e.axes)), outer)
            outer = (*outer, *e.axes)
        stack.extend((k, outer) for k in children(e))
    return result


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[[Builder, list[Buffer], list[Buffer]], None],
    dtype: Any = None,
    name: str = "extern",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Tensors filled by a program: `fcompute(ib, ins, outs)` writes loops with `ib` (see `irtool.tir.builder`).

    `shape` is one shape, or a list of shapes for several results (then `dtype` is a list too, and a tuple of tensors is
    returned). `ins` and `outs` are buffers: read `ins[0][i, j]`, write `ib.store(outs[0], (i, j), value)`.
    """
    many = bool(shape) and isinstance(shape[0], tuple | list)
    shapes = list(shape) if many else [tuple(shape)]
    types = list(dtype) if isinstance(dtype, tuple | list) else [dtype or inputs[0].dtype] * len(shapes)
    if len(types) != len(shapes):
        raise TypeError(f"{name}: {len(shapes)} shapes but {len(types)} dtypes")
    op = Extern(name, tag, attrs, inputs, fcompute)
    op.outputs = tuple(
        Tensor(op, k, [_static(d) for d in s], t, name if len(shapes) == 1 else f"{name}.{k}")
        for k, (s, t) in enumerate(zip(shapes, types))
    )
    return op.outputs if many else op.outputs[0]

"""Steps on the region as statements of C; see `runtime/region.c` for the functions that they call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...symbolic_int import bound
from ...tir.errors import REGION_ERROR, VALUES_FULL_ERROR
from ...tir.program import Slot
from ...tir.region import (
    Collect,
    Decide,
    Field,
    Give,
    MakeObject,
    Pop,
    Push,
    ReadObject,
    RegionStep,
    WriteObject,
    frame_bytes,
    frame_fields,
)
from ..c_types import byte_count

REGION = "region"
"""The name, within a function, of the region."""

LIMIT = "limit"
"""The name, within a function, of the end of objects from which on a loop takes them back."""

BEFORE = "before"
"""The name, within a function, of the end of the objects when it began."""


def write_step(
    s: RegionStep,
    place: Callable[[Slot], str],
    size_of: Callable[[Slot], str],
    next_body: str,
    label: Callable[[str], str],
    collect: tuple[str, bool] = ("", False),
) -> list[str]:
    """The statements of a step.

    Args:
        place: the C expression of a slot's address.
        size_of: the C expression of a slot's bytes.
        next_body: the variable that chooses the body of the next iteration.
        label: gives a new name for a label.
        collect: the symbol of the table of objects, and whether older objects may lead to newer ones.
    """

    def put(base: str, fields: Sequence[Field], slots: Sequence[Slot]) -> list[str]:
        return [f"memcpy({_plus(base, f.offset)}, {place(x)}, {size_of(x)});" for f, x in zip(fields, slots)]

    def get(base: str, fields: Sequence[Field], slots: Sequence[Slot]) -> list[str]:
        return [f"memcpy({place(x)}, {_plus(base, f.offset)}, {size_of(x)});" for f, x in zip(fields, slots)]

    if isinstance(s, MakeObject):
        new = f"*{place(s.outputs[0])} = irt_make({REGION}, {s.layout.size}, {s.layout.tag}, {s.layout.number})"
        check = f"if (({new}) == 0) return {REGION_ERROR};"
        return [check, *put(f"*{place(s.outputs[0])}", s.layout.fields, s.inputs)]
    if isinstance(s, ReadObject):
        return get(_followed(f"*{place(s.inputs[0])}", s.path), s.fields, s.outputs)
    if isinstance(s, WriteObject):
        return put(f"*{place(s.inputs[0])}", s.fields, s.inputs[1:])
    if isinstance(s, Decide):
        tags = [f"irt_tag({REGION}, {_followed(f'*{place(s.inputs[d.root])}', d.path)})" for d in s.decisions]
        return _decide(s, tags, place(s.outputs[0]), label)
    stack = f"{REGION}->stack"
    if isinstance(s, Collect):
        return _collect(s, place, collect)
    if isinstance(s, Push):
        check = f"if (!irt_push({REGION}, {frame_bytes(s.inputs)}, {s.body})) return {REGION_ERROR};"
        return [check, *put(stack, frame_fields(s.inputs), s.inputs)]
    if isinstance(s, Pop):
        # Lengths have the values of the call: the tensors that give them others are in the frame too.
        pairs = zip(frame_fields(s.outputs), s.outputs, strict=True)
        copies = [
            f"memcpy({place(x)}, {_plus(stack, f.offset)}, {byte_count(bound(x.resolve().nbytes))});" for f, x in pairs
        ]
        return [*copies, f"{stack} += {frame_bytes(s.outputs)};"]
    if isinstance(s, Give):
        return _give(s, place, collect[0])
    return [f"{next_body} = irt_next({REGION});", "continue;"]


def _collect(s: Collect, place: Callable[[Slot], str], how: tuple[str, bool]) -> list[str]:
    """The handles are put into a frame, and have new values there afterwards."""
    table, written = how
    count, places = len(s.inputs), [place(x) for x in s.inputs]
    each = [(x, f"irt_at({REGION}, {REGION}->stack + {8 * n})") for n, x in enumerate(places, 1)]
    arguments = f"(int64_t *)(void *){REGION}, {table}, {BEFORE}, {count}, {int(written)}"
    return [
        f"if ({REGION}->top >= {LIMIT} && irt_push({REGION}, {8 * count + 8}, 0)) {{",
        *(f"  memcpy({frame}, {x}, 8);" for x, frame in each),
        f"  {LIMIT} = irt_far_collect({arguments});",
        *(f"  memcpy({x}, {frame}, 8);" for x, frame in each),
        f"  {REGION}->stack += {8 * count + 8};",
        "}",
    ]


def _give(s: Give, place: Callable[[Slot], str], table: str) -> list[str]:
    """The handles are put into an array, and have new values there afterwards."""
    objects = f"(int64_t *)(void *){REGION}, {REGION}->values"
    return [
        "{",
        f"  int64_t given[{max(1, len(s.inputs))}];",
        *(f"  given[{n}] = *{place(x)};" for n, x in enumerate(s.inputs)),
        f"  if (!irt_far_give({objects}, {table}, {REGION}->from, given, {len(s.inputs)}, {int(s.written)})) return {VALUES_FULL_ERROR};",
        *(f"  *{place(x)} = given[{n}];" for n, x in enumerate(s.outputs)),
        "}",
    ]


def _decide(s: Decide, tags: Sequence[str], answer: str, label: Callable[[str], str]) -> list[str]:
    """A switch for each decision; of several, each begins at a label, and the answer ends them."""
    several = len(s.decisions) > 1
    labels = [label("decision") if n else "" for n in range(len(s.decisions))]
    end = label("decided") if several else ""

    def go(n: int) -> str:
        return f"goto {labels[n]};" if n >= 0 else f"*{answer} = {-1 - n}; {f'goto {end}' if several else 'break'};"

    lines = []
    for name, tag, d in zip(labels, tags, s.decisions, strict=True):
        lines += [f"{name}:"] if name else []
        lines.append(f"switch ({tag}) {{")
        lines += [f"  case {t}: {go(n)}" for t, n in d.cases]
        lines += [f"  default: {go(d.other)}", "}"]
    return [*lines, f"{end}:;"] if several else lines


def _plus(handle: str, offset: int) -> str:
    return f"irt_at({REGION}, {handle} + {offset})"


def _followed(handle: str, path: Sequence[int]) -> str:
    for field in path:
        handle = f"irt_inside({REGION}, {handle}, {field})"
    return handle

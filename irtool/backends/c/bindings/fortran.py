"""`NAME.f90`: a module with the interfaces of the functions, by `iso_c_binding`. Fortran 2008.

Arrays are stored by columns in Fortran, so the shape of a tensor is that of C in reverse order. Fortran has no unsigned integers: their bits are
those of the signed ones.
"""

from __future__ import annotations

import re

from ....symbolic_int import SymbolicInt, symbols_of
from ...c_types import stored_type
from ...interface.comment import inside
from ...interface.entry import EntryPoint, Parameter
from .network import BoundNetwork, type_text

_TYPES = {
    "float": "real(c_float)",
    "double": "real(c_double)",
    **{f"{u}int{n}_t": f"integer(c_int{n}_t)" for u in ("", "u") for n in (8, 16, 32, 64)},
}
_WIDTH = 100
"""Characters of a line, of the 132 that compilers take."""


def write_fortran(network: BoundNetwork) -> str:
    """The text of the file."""
    name, first = network.name, network.entries[0]
    instance = first.instance
    lines = [
        *(f"! {inside(line)}".rstrip() for line in network.banner),
        "! The shapes of arrays are those of C in reverse order.",
        f"module {name}_f90",
        "  use, intrinsic :: iso_c_binding",
        "  implicit none",
        "  private",
        f"  public :: {', '.join(_public(network))}",
        "",
        "  !> Bytes of workspace of one run.",
        f"  integer(c_size_t), parameter :: arena_bytes = {network.arena_bytes}_c_size_t",
    ]
    if instance is not None:
        lines += [
            "  !> Bytes of saved states.",
            f"  integer(c_size_t), parameter :: state_bytes = {instance.saved_bytes}_c_size_t",
            "",
            "  !> The states of a network.",
            "  type, bind(c) :: net",
            f"    integer(c_int64_t) :: words({-(-instance.nbytes // 8)})",
            "  end type",
        ]
    lines += ["", "  ! Every function returns 0, or an error: NAME.h lists them.".replace("NAME", name), "  interface"]
    for entry in network.entries:
        lines += _interface(entry, network)
    if instance is not None:
        lines += _states(name)
    if network.has_weights:
        lines += [
            f'    function c_load_weights(path) bind(c, name="{name}_load_weights") result(code)',
            "      import :: c_char, c_int",
            "      character(kind=c_char), intent(in) :: path(*)",
            "      integer(c_int) :: code",
            "    end function",
        ]
    lines += ["  end interface"]
    if network.has_weights:
        lines += [
            "",
            "contains",
            "",
            "  !> Loads the weights, before the first run.",
            "  function load_weights(path) result(code)",
            "    character(len=*), intent(in) :: path",
            "    integer(c_int) :: code",
            "    code = c_load_weights(trim(path)//c_null_char)",
            "  end function",
        ]
    return "\n".join([*lines, "end module", ""])


def _public(network: BoundNetwork) -> list[str]:
    names = ["arena_bytes", *(network.method(e) for e in network.entries)]
    names += ["net", "reset", "save", "restore", "state_bytes"] if network.entries[0].instance is not None else []
    return [*names, *(["load_weights"] if network.has_weights else [])]


def _interface(entry: EntryPoint, network: BoundNetwork) -> list[str]:
    names = _Names()
    lengths = {s.name: names.fresh(s.name) for s in entry.symbols}
    tensors = {p: names.fresh(p.name) for p in entry.tensors}
    net = [names.fresh("state")] if entry.instance is not None else []
    arguments = ["arena", "size", *net, *lengths.values(), *tensors.values()]
    head = f'    function {network.method(entry)}({", ".join(arguments)}) bind(c, name="{entry.run_with}") result(code)'
    used = {word for p in entry.tensors for word in (_type(p).split("(")[1].rstrip(")"),)}
    used |= {"c_int", "c_size_t", "c_int8_t", *(["c_int64_t"] if lengths else []), *(["net"] if net else [])}
    return [
        *_wrapped(head),
        f"      import :: {', '.join(sorted(used))}",
        "      integer(c_int8_t), intent(inout) :: arena(*)",
        "      integer(c_size_t), value :: size",
        *(f"      type(net), intent(inout) :: {n}" for n in net),
        *(f"      integer(c_int64_t), value :: {n}" for n in lengths.values()),
        *(
            f"      {_type(p)}, intent({'in' if p in entry.inputs else 'inout'}) :: {n}{_extents(p, entry, lengths)} ! {inside(type_text(p))}"
            for p, n in tensors.items()
        ),
        "      integer(c_int) :: code",
        "    end function",
    ]


def _states(name: str) -> list[str]:
    head = "      import :: c_int, net"
    return [
        "    !> Gives the states their first values.",
        f'    function reset(state) bind(c, name="{name}_init") result(code)',
        head,
        "      type(net), intent(inout) :: state",
        "      integer(c_int) :: code",
        "    end function",
        "    !> Saves the states; the last argument is c_null_ptr.",
        f'    function save(state, saved, restored) bind(c, name="{name}_state") result(code)',
        "      import :: c_int, c_int8_t, c_ptr, net",
        "      type(net), intent(inout) :: state",
        "      integer(c_int8_t), intent(inout) :: saved(*)",
        "      type(c_ptr), value :: restored",
        "      integer(c_int) :: code",
        "    end function",
        "    !> Takes saved states; the second argument is c_null_ptr.",
        f'    function restore(state, saved, restored) bind(c, name="{name}_state") result(code)',
        "      import :: c_int, c_int8_t, c_ptr, net",
        "      type(net), intent(inout) :: state",
        "      type(c_ptr), value :: saved",
        "      integer(c_int8_t), intent(in) :: restored(*)",
        "      integer(c_int) :: code",
        "    end function",
    ]


class _Names:
    """Names of arguments that differ in Fortran, whose letters have no case."""

    def __init__(self) -> None:
        self._used = {"arena", "size", "code", "net"}

    def fresh(self, text: str) -> str:
        base = text.strip("_")[:50] or "x"
        base = base if base[0].isalpha() else f"v{base}"
        name, n = base, 1
        while name.lower() in self._used:
            n += 1
            name = f"{base}_{n}"
        self._used.add(name.lower())
        return name


def _extents(p: Parameter, entry: EntryPoint, lengths: dict[str, str]) -> str:
    """`(4, 3)` for the shape `3, 4`; `(*)` for extents that are more than sums and products of lengths."""
    if not p.slot.shape:
        return ""
    texts = []
    for d in reversed(p.slot.shape):
        text = str(d)
        if isinstance(d, SymbolicInt):
            if any(s not in entry.symbols for s in symbols_of([d])) or set(text) & set("?/"):
                return "(*)"
            text = re.sub(r"[A-Za-z_]\w*", lambda m: lengths[m[0]], text)
        texts.append(text)
    return f"({', '.join(texts)})"


def _type(p: Parameter) -> str:
    return _TYPES[stored_type(p.slot.dtype)]


def _wrapped(line: str) -> list[str]:
    """The line, continued at commas where it is too long."""
    if len(line) <= _WIDTH:
        return [line]
    parts, rest = [], line
    while len(rest) > _WIDTH:
        cut = rest.rfind(", ", 0, _WIDTH) + 1
        if not cut:
            break
        parts.append(f"{rest[:cut]} &")
        rest = f"      & {rest[cut:].lstrip()}"
    return [*parts, rest]

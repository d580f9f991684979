"""The functions that run a network: with its own memory or the caller's, in one piece or in pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...symbolic_int import Symbol
from ...tir.errors import VALUE_ERROR, WORKSPACE_ERROR
from ...tir.program import HostFunction
from ...tir.value_notes import BYTES
from ..interface.entry import OUT_OF_BOUNDS, UNEQUAL_LENGTHS, EntryPoint
from ..interface.memory import ALIGNMENT
from ..interface.pools import WorkspacePool
from ..interface.states import STATE_FULL, LengthField
from . import static_memory


def own_storage(name: str) -> str:
    """The name of the network's own workspace in one piece."""
    return f"{name}_storage"


def storages(name: str, pools: Sequence[WorkspacePool], arena_bytes: int) -> list[str]:
    """Declarations of the network's own memory."""
    upper = name.upper()
    if not pools:
        return static_memory.storage(own_storage(name), f"{upper}_ARENA", arena_bytes)[0]
    return [line for p in pools if p.bytes for line in static_memory.storage(p.symbol, p.macro, p.bytes)[0]]


@dataclass(frozen=True)
class RunWriter:
    """Writes the functions of one entry point. Each begins with `check`."""

    name: str
    entry: EntryPoint
    check: str
    pools: Sequence[WorkspacePool]
    arena_bytes: int
    pool_of_notes: int | None = None
    """The pool to which a run writes which value is outside of its bounds, if it does."""

    @property
    def memory(self) -> list[str]:
        """Declarations of the memory parameters of the steps."""
        return ["unsigned char *const *room"] if self.pools else ["unsigned char *base", "unsigned char *end"]

    @property
    def handed(self) -> list[str]:
        """Arguments for these parameters."""
        return ["room"] if self.pools else ["base", "end"]

    def memory_of(self, function: HostFunction) -> list[str]:
        """Memory parameters of a function: its pools, or the beginning and the end of its frame."""
        if not self.pools or function.in_pools:
            return self.handed
        home = next((n for n, size in enumerate(function.pool_bytes) if size), 0)
        begin = f"room[{home}]"
        return [begin, f"{begin} + {self.pools[home].bytes}" if self.pools[home].bytes else begin]

    def write(self, last: str) -> str:
        """The functions; `last` are the statements that run the steps."""
        if self.entry.arena_size:
            return self._in_open_arena(last)
        return self._in_pools(last) if self.pools else self._in_arena(last)

    @property
    def _separator(self) -> str:
        return ", " if self.entry.declarations else ""

    @property
    def _head_with(self) -> str:
        return f"int {self.entry.run_with}(void *arena, size_t size{self._separator}{self.entry.declarations}) {{\n"

    def _in_open_arena(self, last: str) -> str:
        e = self.entry
        least = f"{e.arena_size}({', '.join(s.name for s in e.symbols)})"
        return (
            f"{self._head_with}"
            f"  unsigned char *base = (unsigned char *)arena, *end;\n"
            f"{self.check}{check_lengths(self.name, e)}"
            f"  if (!{least}) return {self.name.upper()}_{OUT_OF_BOUNDS};\n"
            f"  if (!arena || size < {least}) return {WORKSPACE_ERROR};\n"
            f"  end = base + size;\n"
            f"  base += {_skip('base')};\n"
            f"{last}}}\n"
        )

    def _in_arena(self, last: str) -> str:
        e, size = self.entry, f"{self.name.upper()}_ARENA_SIZE"
        symbol = own_storage(self.name)
        first = static_memory.storage(symbol, f"{self.name.upper()}_ARENA", self.arena_bytes)[1]
        return (
            f"{self._head_with}"
            f"  unsigned char *base = (unsigned char *)arena, *end;\n"
            f"{self.check}{check_lengths(self.name, e)}"
            f"  if (!arena || size < {size}) return {WORKSPACE_ERROR};\n"
            f"  end = base + size;\n"
            f"  base += {_skip('base')};\n"
            f"{last}}}\n\n"
            f"int {e.run}({e.declarations or 'void'}) {{\n{first}"
            f"  return {e.run_with}({symbol}, {size}{self._separator}{e.arguments});\n}}\n"
        )

    def _in_pools(self, last: str) -> str:
        e, struct = self.entry, f"struct {self.name}_workspace_pools"
        arguments = f"{self._separator}{e.arguments}"
        missing = "".join(f" || !pools->{p.name}" for p in self.pools if p.bytes)
        begins = "".join(
            f"  room[{n}] = (unsigned char *)pools->{p.name};\n"
            + (f"  room[{n}] += {_skip(f'room[{n}]')};\n" if p.bytes else "")
            for n, p in enumerate(self.pools)
        )
        offsets = [sum(p.bytes for p in self.pools[:n]) for n in range(len(self.pools))]
        inside = "".join(
            f"  pools.{p.name} = base{f' + {offset}' if offset else ''};\n"
            for p, offset in zip(self.pools, offsets, strict=True)
        )
        own = "".join(
            f"{static_memory.storage(p.symbol, p.macro, p.bytes)[1]}  pools.{p.name} = {p.symbol};\n"
            if p.bytes
            else f"  pools.{p.name} = NULL;\n"
            for p in self.pools
        )
        return (
            f"int {e.run_in_pools}(const {struct} *pools{self._separator}{e.declarations}) {{\n"
            f"  unsigned char *room[{len(self.pools)}];\n"
            f"{self.check}{check_lengths(self.name, e)}"
            f"  if (!pools{missing}) return {WORKSPACE_ERROR};\n"
            f"{begins}{last}}}\n\n"
            f"{self._head_with}"
            f"  {struct} pools;\n"
            f"  unsigned char *base = (unsigned char *)arena;\n"
            f"  if (!arena || size < {self.name.upper()}_ARENA_SIZE) return {WORKSPACE_ERROR};\n"
            f"  base += {_skip('base')};\n"
            f"{inside}{self._return_with_note(f'{e.run_in_pools}(&pools{arguments})')}}}\n\n"
            f"int {e.run}({e.declarations or 'void'}) {{\n"
            f"  {struct} pools;\n"
            f"{own}  return {e.run_in_pools}(&pools{arguments});\n}}\n"
        )

    def _return_with_note(self, call: str) -> str:
        """The statements that return the code of a run in pools inside of an arena; a note goes to where a run in one piece leaves it."""
        if self.pool_of_notes is None:
            return f"  return {call};\n"
        note = f"pools.{self.pools[self.pool_of_notes].name}"
        return (
            f"  {{\n    const int code = {call};\n"
            f"    if (code == {VALUE_ERROR}) memmove((unsigned char *)arena + size - {BYTES}, {note}, {BYTES});\n"
            f"    return code;\n  }}\n"
        )


def check_lengths(name: str, e: EntryPoint) -> str:
    """The statements that refuse lengths outside of their bounds, and end a run whose outputs have no elements."""
    lines = _read_positions(name, e)
    tests = [outside(s, 0 if s in e.empty_at_zero else s.low) for s in e.symbols]
    out = " || ".join(f"({t})" if " && " in t and len(tests) > 1 else t for t in tests)
    lines += [f"  if ({out}) return {name.upper()}_{OUT_OF_BOUNDS};\n"] if out else []
    lines += _check_positions(name, e)
    unequal = " || ".join(f"{a} != {b}" for a, b in e.function.demands)
    lines += [f"  if ({unequal}) return {name.upper()}_{UNEQUAL_LENGTHS};\n"] if unequal else []
    lines += [f"  if ({' || '.join(f'{s.name} == 0' for s in e.empty_at_zero)}) return 0;\n"] if e.empty_at_zero else []
    return "".join(lines)


def outside(s: Symbol, least: int) -> str:
    """The condition, in C, of a length outside of its values, the first of which is `least`."""
    if s.choices:
        return " && ".join(f"{s.name} != {c}" for c in s.choices)
    return f"{s.name} < {least} || {s.name} > {s.high}" + (f" || {s.name} % {s.step} != 0" if s.step > 1 else "")


def position(e: EntryPoint, f: LengthField) -> str:
    """The C expression of a length in the instance."""
    assert e.instance is not None
    return f"{e.instance.variable}->{f.name}"


def _read_positions(name: str, e: EntryPoint) -> list[str]:
    """The statements that read lengths of the instance: one that is not initialized may have any."""
    names = [(f.length, position(e, f)) for f in e.positions]
    lines = [f"  const int64_t {x.symbol.name} = {place};\n" for x, place in names]
    out = " || ".join(f"{x.symbol.name} < 0 || {x.symbol.name} > {x.capacity}" for x, _ in names)
    return [*lines, f"  if ({out}) return {name.upper()}_{OUT_OF_BOUNDS};\n"] if out else []


def _check_positions(name: str, e: EntryPoint) -> list[str]:
    """The statements that refuse a step for which the states have no room, or with lengths other than those of the first step."""
    full = " || ".join(f"{f.length.next} > {f.length.capacity}" for f in e.positions)
    lines = [f"  if ({full}) return {name.upper()}_{STATE_FULL};\n"] if full else []
    other = " || ".join(
        f"({position(e, f)} != 0 && {position(e, f)} != {f.length.symbol.name})" for f in e.same_lengths
    )
    return [*lines, f"  if ({other}) return {name.upper()}_{UNEQUAL_LENGTHS};\n"] if other else lines


def store_lengths(e: EntryPoint, call: str) -> str:
    """The statements that call the function of a step, and after one without an error store the lengths in the instance."""
    stores = "".join(f"    if (!code) {position(e, f)} = {f.length.next};\n" for f in (*e.positions, *e.same_lengths))
    return f"  {{\n    const int code = {call};\n{stores}    return code;\n  }}\n"


def _skip(pointer: str) -> str:
    """The bytes from an address to the next aligned one."""
    return f"({ALIGNMENT}u - (uintptr_t){pointer} % {ALIGNMENT}u) % {ALIGNMENT}u"

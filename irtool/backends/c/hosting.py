"""Host functions as C: kernel calls, branches, copies and calls of each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...tir.program import CONSTANT, PARAM, RESULT, Branch, CallFunction, CopySlot, HostFunction, RunKernel, Slot
from .names import Names
from .scalars import stored_type


class HostWriter:
    """Writes one function of the network.

    `kernels` gives the C name of a kernel and whether it takes scratch memory; `constant` the C expression of a constant.
    """

    def __init__(
        self,
        function: HostFunction,
        names: Names,
        functions: Mapping[str, str],
        kernels: Callable[[Any], tuple[str, bool]],
        constant: Callable[[Slot], str],
        checks_frame: bool,
    ) -> None:
        self.function = function
        self.functions = functions
        self.kernels = kernels
        self.constant = constant
        self.checks_frame = checks_frame
        self.names = names.inner("arena", "arena_end")
        self.places: dict[Slot, str] = {s: self.names.fresh(s.name) for s in function.params}
        self.places.update({s: self.names.fresh(s.name) for s in function.results})
        self.declared: list[str] = []
        self.used: set[str] = set()

    @property
    def signature(self) -> str:
        """The declaration, without semicolon."""
        f = self.function
        params = [f"const {stored_type(s.dtype)} *{self.places[s]}" for s in f.params]
        params += [f"{stored_type(s.dtype)} *{self.places[s]}" for s in f.results]
        params += ["unsigned char *arena", "unsigned char *arena_end"]
        return f"static int {self.functions[f.name]}({', '.join(params)})"

    def write(self) -> str:
        """The whole function."""
        f = self.function
        body = self._steps()
        lines = [f"{self.signature} {{", *self.declared]
        if f.frame_bytes and self.checks_frame:
            lines.append(f"  if ((size_t)(arena_end - arena) < {f.frame_bytes}u) return 1;")
            self.used |= {"arena", "arena_end"}
        handed = [*(self.places[s] for s in (*f.params, *f.results)), "arena", "arena_end"]
        lines += [f"  (void){n};" for n in handed if n not in self.used]
        return "\n".join([*lines, *body, "  return 0;", "}", ""])

    def _steps(self) -> list[str]:
        lines: list[str] = []
        stack: list[tuple[Any, int]] = [(s, 1) for s in reversed(self.function.body)]
        while stack:
            s, depth = stack.pop()
            pad = "  " * depth
            if isinstance(s, str):
                lines.append(pad + s)
            elif isinstance(s, RunKernel):
                name, scratch = self.kernels(s.kernel)
                args = self._arguments(s)
                if scratch:
                    self.used.add("arena")
                    args.append(f"arena + {s.workspace}" if s.workspace else "arena")
                lines.append(f"{pad}{name}({', '.join(args)});")
            elif isinstance(s, CallFunction):
                args = [*self._arguments(s), f"arena + {s.frame}" if s.frame else "arena", "arena_end"]
                lines.append(
                    f"{pad}{{ int error = {self.functions[s.function]}({', '.join(args)}); if (error) return error; }}"
                )
            elif isinstance(s, CopySlot):
                target, source = self._place(s.target), self._place(s.source)
                if target != source and s.target.nbytes:
                    lines.append(f"{pad}memcpy({target}, {source}, {s.target.nbytes}u);")
            else:
                assert isinstance(s, Branch)
                lines.append(f"{pad}if (*{self._place(s.cond)}) {{")
                stack += [("}", depth), *((x, depth + 1) for x in reversed(s.other))]
                if s.other:
                    stack.append(("} else {", depth))
                stack += [(x, depth + 1) for x in reversed(s.then)]
        return lines

    def _arguments(self, s: RunKernel | CallFunction) -> list[str]:
        return [self._place(x) for x in (*s.inputs, *s.outputs)]

    def _place(self, slot: Slot) -> str:
        """The C expression of a slot's address; a temporary is declared when it is met first."""
        slot = slot.resolve()
        if slot.kind == CONSTANT:
            return self.constant(slot)
        found = self.places.get(slot)
        if found is None:
            assert slot.kind not in (PARAM, RESULT)
            found = self.places[slot] = self.names.fresh(slot.name)
            self.used.add("arena")
            t = stored_type(slot.dtype)
            at = f"arena + {slot.offset}" if slot.offset else "arena"
            shape = ", ".join(map(str, slot.shape))
            self.declared.append(f"  {t} *const {found} = ({t} *)(void *)({at}); /* [{shape}] */")
        self.used.add(found)
        return found

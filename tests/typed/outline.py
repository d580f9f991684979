"""A backend as a user writes one: it writes no code, but what would run, in order."""

from __future__ import annotations

from dataclasses import dataclass

from irtool.backends.base import Backend, Request, Sources, VectorTarget, backend, entry_points, flag
from irtool.diagnostics import Diagnostic
from irtool.tir.program import Program, RunKernel, steps


@backend("typed_outline")
@dataclass(frozen=True)
class Outline(Backend):
    """The kernels in the order in which they run."""

    emits = ("md",)

    sizes: bool = flag(False, "also the bytes of what each kernel writes")
    lanes: str = flag("8", "schedule for vectors of so many floats", choices=("1", "8", "16"))

    def machine(self) -> VectorTarget:
        return VectorTarget(4 * int(self.lanes) if self.lanes != "1" else 0, 16)

    def supports(self, program: Program) -> list[Diagnostic]:
        return []

    def emit(self, program: Program, request: Request) -> Sources:
        lines = [f"# {request.name}", ""]
        for function in program.functions.values():
            for step in steps(function.body):
                if isinstance(step, RunKernel):
                    size = f" ({sum(s.nbytes for s in step.writes)} bytes)" if self.sizes else ""
                    lines.append(f"- {step.kernel.name}{size}: {step.kernel.choice.strategy}")
        text = "\n".join([*lines, ""])
        return Sources({f"{request.name}.md": [text.encode()]}, entry_points(program), program.arena_bytes)

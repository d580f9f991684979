"""`irtool backends`: lists and explains backends, from the classes themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .mistakes import ClashingOptions
from .pass_options import loads_files
from .wrong_usage import Command

if TYPE_CHECKING:
    from ..backends.base import Backend
    from ..tir.vector_target import VectorTarget


@click.command(name="backends", cls=Command, short_help="List the backends, or explain one.")
@click.argument("name", type=param_types.BACKEND, required=False)
@click.option(
    "--processors", is_flag=True, help="List the values of --mcpu that the tools here know, with their vectors."
)
@loads_files
def command(name: str | None, processors: bool) -> None:
    """List the backends for `irtool build --target`, or describe NAME: outputs and flags.

    \b
    Examples:
      irtool backends c
      irtool backends c --processors
      irtool build --target='c{math=strict,vector=none}' net.relay
    """
    if processors:
        click.echo(_processors(name or "c"))
        return
    click.echo(_explain(name) if name else _list())


def _processors(name: str) -> str:
    """The table of processors. Raises UsageError for a backend without any."""
    from ..backends.base import find_backend
    from ..diagnostics import UsageError
    from .tables import show_table

    machines = find_backend(name).make().processors()
    if not machines:
        raise UsageError(f"the backend {name} lists no processors", code=ClashingOptions)
    rows = [("processor", "vectors", "registers", "sums of products")]
    for processor, machine in machines.items():
        if machine is None:
            rows.append((processor, "", "", "code for several levels, chosen where it runs"))
            continue
        width = f"{8 * machine.vector_bytes} bits" if machine.vector_bytes else "none"
        rows.append((processor, width, str(machine.registers), ", ".join(_sums(machine))))
    return show_table(rows, (18, 9, 9))


def _sums(machine: VectorTarget) -> list[str]:
    """The instructions for sums of products, by the numbers that they multiply."""
    cost = min((d.cost for d in machine.dots if d.function.startswith("dot4") and d.function.endswith("8")), default=0)
    fields = (
        (f"bytes ({cost} instructions)" if cost > 1 else "bytes", cost),
        ("16 bits", machine.wide_products > 1),
        ("bfloat16", machine.paired_products > 1),
        ("matrices of bytes", machine.product_rows > 1),
        ("matrix tiles", machine.byte_tiles > 1),
    )
    return [text for text, has in fields if has]


def _list() -> str:
    from ..backends.base import backends
    from .tables import show_table

    rows = [("backend", "output", "description")]
    rows += [(cls.name, ", ".join(cls.emits), cls.summary()) for cls in dict.fromkeys(backends)]
    note = "`irtool backends NAME` lists the flags of a backend; `--emit=tir` needs no backend."
    return f"{show_table(rows, (10, 24))}\n\n{note}"


def _explain(name: str) -> str:
    from ..backends.base import backends, find_backend
    from ..driver.options import default_emit
    from ..tir.vector_target import SIZES
    from .manual import for_terminal
    from .tables import show_table

    cls = find_backend(name)
    lines = [cls.name, "", for_terminal(cls.manual()), ""]
    lines.append(f"--emit: {', '.join(cls.emits)} (default: {default_emit(cls)})")
    if cls.fields():
        rows = [("flag", "default", "meaning"), *(_flag(f) for f in cls.fields())]
        lines += ["", show_table(rows, (16, 8)), "", f"--target='{_example(cls)}' sets flags."]
    sizes = [("size", "default", "unit", "meaning"), *(_size(f) for n, f in SIZES.items() if n not in _names(cls))]
    lines += ["", "The processor as lowering and scheduling model it; set in the same place.", ""]
    lines.append(show_table(sizes, (18, 10, 11)))
    origin = backends.origin_of(cls)
    return "\n".join([*lines, *(["", origin] if origin else [])])


def _flag(f: Any) -> tuple[str, str, str]:
    from ..backends.flags import show_flag

    choices = f.metadata.get("choices", ())
    meaning = f.metadata.get("meaning", "") + (f": {', '.join(choices)}" if choices else "")
    return f.name, show_flag(f.default) if f.default != "" else "", meaning


def _names(cls: type[Backend]) -> set[str]:
    return {f.name for f in cls.fields()}


def _size(f: Any) -> tuple[str, str, str, str]:
    default = "processor" if f.name == "registers" else str(f.default)
    return f.name, default, f.metadata["unit"], f.metadata["meaning"]


def _example(cls: type[Backend]) -> str:
    f = cls.fields()[0]
    choices = f.metadata.get("choices") or ("…",)
    return f"{cls.name}{{{f.name}={choices[-1]}}}"

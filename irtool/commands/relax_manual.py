"""`docs/relay-to-relax.md`: the forms of Relay's constructs and operators in Relax, from the code that writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..diagnostics import IrError
from ..exports import Request, parse_export
from ..exports.relax.forms import Form, forms
from ..exports.relax.prepare import is_decomposed
from ..infer import infer_types
from ..ops import Operator, operators
from ..parser import parse

_HEAD = """\
# Coming from Relay, going to Relax

Generated from the code that writes Relax; a test keeps it fresh.

TVM has Relay up to version 0.19 and Relax since. `irtool export --to=relax` writes a module as TVMScript: a Python file that
defines `Module`, which today's TVM (0.27) parses, checks, builds and runs.

```sh
irtool export --to=relax net.relay -o net.py                          # weights stay parameters
irtool export --to=relax net.relay --params weights.npz -o net.py     # weights become constants, in net.npz beside it
irtool export --to='relax{weights=parameters}' net.relay --params weights.npz -o net.py   # net.npz, by parameters' names
```

```python
import numpy as np
import tvm
from tvm import relax

from net import Module

vm = relax.VirtualMachine(tvm.compile(Module, "llvm"), tvm.cpu())
print(vm["main"](tvm.runtime.tensor(np.zeros((1, 3, 224, 224), "float32"))))
```

Names are those of the Relay text as far as Python takes them. What stands next to each other and only computes is a dataflow
block. The entry (`--entry`) is public, what it calls is private, and what it does not reach is left out. What Relax has no form
for is reported, all in one run, and nothing is written.

## Constructs
"""

_EXAMPLES: tuple[tuple[str, str], ...] = (
    (
        "`let`, shared values and tuples",
        """\
def @main(%x: Tensor[(3), float32]) {
  let %y = exp(%x);
  %0 = (%y, add(%y, %y));
  (%0.1, %x)
}""",
    ),
    (
        "`if`: both branches bind the same name",
        """\
def @main(%c: bool, %x: Tensor[(3), float32]) {
  if (%c) { nn.relu(%x) } else { %x }
}""",
    ),
    (
        "Functions of the module, and recursion",
        """\
def @main(%n: int32) -> int32 {
  @down(%n)
}
def @down(%n: int32) -> int32 {
  if (equal(%n, 0)) { %n } else { @down(subtract(%n, 1)) }
}""",
    ),
    (
        "A function inside of another one becomes one of the module, with what it captures as further parameters; as a value, it is a closure",
        """\
def @main(%x: Tensor[(3), float32]) {
  let %f = fn (%y: Tensor[(3), float32]) { add(%x, %y) };
  let %twice = fn (%g: fn (Tensor[(3), float32]) -> Tensor[(3), float32]) { %g(%g(%x)) };
  %twice(%f)
}""",
    ),
    (
        "A dimension `?` of a parameter becomes a symbolic variable; shapes that follow from it are left to Relax",
        """\
def @main(%x: Tensor[(?, 4), float32]) {
  nn.relu(%x)
}""",
    ),
    (
        "An operator without counterpart becomes a loop nest in TIR",
        """\
def @main(%x: Tensor[(2, 3), float32]) {
  any(cast(%x, dtype="bool"), axis=[1])
}""",
    ),
    (
        "References that only compile time knows are evaluated; others, and algebraic data, are reported",
        """\
def @main(%c: bool, %x: Tensor[(3), float32]) {
  let %r = ref(%x);
  if (%c) { ref_write(%r, exp(%x)) } else { () };
  ref_read(%r)
}""",
    ),
)


def reference() -> str:
    """The text of the page."""
    out = [_HEAD]
    for title, program in _EXAMPLES:
        out += [f"{title}:", "", "```", program, "```", "", *_fenced(*_written(program)), ""]
    out += [
        "Kernels (`Primitive=1`) and partitions (`Compiler=…`) are written as functions like others: passes of TVM fuse and",
        "partition in their own way. Functions with type parameters are copied for each type that they are called at.",
        "Annotations (`on_device`, `annotation.…`) are dropped. Everything runs on one device.",
        "",
        "## Operators",
        "",
        *_operators(),
    ]
    return "\n".join(out)


def _written(program: str) -> tuple[str, str]:
    """The functions of the Relax module, or the diagnostics; and the language of the text."""
    try:
        module = infer_types(parse(f'#[version = "0.0.5"]\n{program}\n', filename="in.relay"))
        *_, file = parse_export("relax").write(module, Request("out.py"))
    except IrError as error:
        return "\n".join(map(str, error.diagnostics)), ""
    return b"".join(file.parts).decode().partition("class Module:\n")[2].rstrip(), "python"


def _fenced(text: str, language: str) -> list[str]:
    lines = text.split("\n")
    cut = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [f"```{language}", *(line[cut:] for line in lines), "```"]


def _operators() -> Iterator[str]:
    single: list[tuple[str, type[Form]]] = []
    several: list[tuple[str, type[Form]]] = []
    passes: list[str] = []
    nests: list[str] = []
    none: list[tuple[str, str]] = []
    own = [n for n in operators.names() if n not in operators.outside()]
    for name in own:
        form = forms.find(name)
        if form is not None:
            (single if form.is_single else several).append((name, form))
        elif is_decomposed(name):
            passes.append(name)
        elif reason := _why_none(operators.get(name)):
            none.append((name, reason))
        else:
            nests.append(name)
    yield (
        f"Of {len(own)} operators {len(single)} have a counterpart, {len(several)} are put together of several, "
        f"{len(passes)} are decomposed by passes, {len(nests)} become loop nests, and {len(none)} have no form."
    )
    yield "A call that a counterpart does not hold for (integers where Relax takes floats, layouts with blocks) becomes a loop nest, too."
    yield from ("", "| operator | in Relax | |", "| --- | --- | --- |")
    for name, form in sorted([*single, *several]):
        shown = re.sub(r"R\.[\w.]+\w", lambda m: f"`{m[0]}`", form.relax)
        yield f"| `{name}` | {shown} | {form.summary()} |"
    yield from (
        "",
        "Decomposed by `qnn.Legalize` and `qnn.CanonicalizeOps`, with scales and zero points that are known:",
        "",
    )
    yield ", ".join(f"`{n}`" for n in passes) + "."
    yield from (
        "",
        "Loop nests, from the tensor expressions that irtool compiles to C; their shapes must be static:",
        "",
    )
    yield ", ".join(f"`{n}`" for n in nests) + "."
    yield from ("", "Without a form:", "", "| operator | reason |", "| --- | --- |")
    for name, reason in none:
        yield f"| `{name}` | {reason} |"
    yield ""


def _why_none(cls: type[Operator]) -> str:
    """Why an operator without a form has no loop nest either; empty if it has one."""
    from ..ops.dyn.base import Dynamic

    if cls.vendor:
        return f"it is an operator of {cls.vendor}"
    if issubclass(cls, Dynamic):
        return "its shape comes from data; where that is constant, DynamicToStatic replaces it"
    if cls.compute is not Operator.compute:
        return ""
    if cls.noncomputational:
        return "it tells a runtime what to do, and is none of a model"
    return "the shape of its result is known only when it runs"

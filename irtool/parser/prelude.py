"""The definitions that TVM's modules begin with (`prelude.rly`, `core.rly`, `gradient.rly`, `nat.rly`), for texts that use them unsaid.

They stand in the folder `std`, written anew with TVM's names, types and meanings. A text gets those that it uses and does not define, and
what these use; its own definitions win.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ..diagnostics import IrError, nearest

FILES = ("prelude.rly", "core.rly", "gradient.rly", "nat.rly")
_SILENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"', re.DOTALL)
_NAME = re.compile(r"(?<![\w%.@])(@?[A-Za-z_]\w*)(?!\w)")
_ARGUMENT = re.compile(r"=\s*None\b")
_TYPE = re.compile(r"(?:extern\s+)?type\s+(\w+)[^{}\n]*(?:\{([^{}]*)\})?")
_FUNCTION = re.compile(r"def\s+(@\w+)")
_METADATA = re.compile(r"^#\[metadata\]", re.MULTILINE)


_DTYPE = r"((?:float|int|uint|bfloat)\d+|bool)"
_SHAPE = r"(scalar|(?:\d+|any)(?:_(?:\d+|any))*)"
_STATIC = re.compile(rf"static_tensor_{_DTYPE}_{_SHAPE}_t|tensor_(?:nil|constructor)_{_DTYPE}_{_SHAPE}")
_RANKS = re.compile(rf"tensor_{_DTYPE}_t|tensor(?:[0-6]|_nil)_{_DTYPE}")


@dataclass(frozen=True)
class Definition:
    """A type or a function: its text, the names that it defines, and those that it uses."""

    text: str
    defines: tuple[str, ...]
    uses: frozenset[str]


def definitions(file: str) -> list[Definition]:
    """The definitions of a file, in order. Raises IrError for a missing file."""
    if file not in FILES:
        raise IrError(f"there is no {file} in the standard library", help=nearest(file, FILES))
    return list(_read(file))


@cache
def _read(file: str) -> tuple[Definition, ...]:
    from pathlib import Path  # which texts without these definitions do not wait for

    text = (Path(__file__).parent / "std" / file).read_text(encoding="utf-8")
    parts = re.split(r"^(?=def |type |extern )", text, flags=re.MULTILINE)[1:]
    return tuple(Definition(p.split("\n//")[0].strip(), tuple(_defined(p)), frozenset(_used(p))) for p in parts)


def with_prelude(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with the definitions that it uses and lacks behind its own, and their names; the text itself where it lacks none."""
    owners = {name: d for file in FILES for d in _read(file) for name in d.defines}
    owners |= {name: d for used in _used(text) if (d := _container(used)) for name in d.defines}
    body, behind = _parts(text)
    own = set(_defined(body))
    needed: dict[Definition, None] = {}
    waiting = [name for name in _used(body) if name in owners]
    while waiting:
        name = waiting.pop()
        d = owners[name]
        if name in own or d in needed:
            continue
        needed[d] = None
        waiting += [n for n in sorted(d.uses) if n in owners]
    added = [d for file in FILES for d in _read(file) if d in needed]
    added += sorted(needed.keys() - set(added), key=lambda d: d.defines)
    if not added:
        return text, ()
    written = "\n".join(d.text for d in added)
    gap = "" if body.endswith("\n") else "\n"
    return f"{body}{gap}{written}\n{behind}", tuple(d.defines[0] for d in added)


def _container(name: str) -> Definition | None:
    """The type of elements of TVM's tensor arrays that a name is one of: `tensor_float32_t`, of tensors of any rank up to 6, or
    `static_tensor_float32_2_any_t`, of one shape.
    """
    if match := _STATIC.fullmatch(name):
        dtype, shape = match[1] or match[3], match[2] or match[4]
        extents = [] if shape == "scalar" else shape.replace("any", "?").split("_")
        names = [
            f"static_tensor_{dtype}_{shape}_t",
            f"tensor_nil_{dtype}_{shape}",
            f"tensor_constructor_{dtype}_{shape}",
        ]
        tensors = [f"{names[2]}(Tensor[({', '.join(extents)}), {dtype}])"]
    elif match := _RANKS.fullmatch(name):
        dtype = match[1] or match[2]
        ranks = [f"tensor{k}_{dtype}" for k in range(7)]
        names = [f"tensor_{dtype}_t", f"tensor_nil_{dtype}", *ranks]
        tensors = [f"{n}(Tensor[({', '.join('?' * k)}), {dtype}])" for k, n in enumerate(ranks)]
    else:
        return None
    return Definition(f"type {names[0]} {{ {', '.join([names[1], *tensors])} }}", tuple(names), frozenset())


def _parts(text: str) -> tuple[str, str]:
    """The text in front of its metadata section, and that."""
    match = _METADATA.search(text)
    return (text[: match.start()], text[match.start() :]) if match else (text, "")


def _plain(text: str) -> str:
    """The text without comments and strings."""
    return _ARGUMENT.sub("=", _SILENT.sub(" ", text))


def _used(text: str) -> Iterator[str]:
    yield from dict.fromkeys(_NAME.findall(_plain(text)))


def _defined(text: str) -> Iterator[str]:
    plain = _plain(text)
    for name, constructors in _TYPE.findall(plain):
        yield name
        yield from re.findall(
            r"(?:^|,)\s*(\w+)", re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\]", "", constructors)
        )
    yield from _FUNCTION.findall(plain)

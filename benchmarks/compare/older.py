"""The other engines as on an older processor, whose instructions end with x86-64-v3 (AVX2, no VNNI).

They ask the processor what it has with `cpuid`, and have no setting for fewer instructions. Copies of their packages get `ud2`, which is as
long, wherever a disassembler finds `cpuid`; a small library answers it (`older.c`).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

LEVEL = "x86-64-v3"
PACKAGES = ("onnxruntime", "openvino")
_CPUID, _UD2 = b"\x0f\xa2", b"\x0f\x0b"


_PLACE = Path(__file__).parents[2] / "build" / "compare" / LEVEL


@cache
def environment(mcpu: str) -> dict[str, str]:
    """Variables for a process in which the engines find no instructions beyond x86-64-v3, if that is the processor; none for another.
    The copies are made where they are missing, which takes a minute.

    Raises:
        FileNotFoundError: there is no `objdump`.
        subprocess.CalledProcessError: one of the tools fails.
    """
    if mcpu != LEVEL:
        return {}
    site = _PLACE / "-".join(f"{p}-{version(p)}" for p in PACKAGES)
    if not site.is_dir():
        partial = site.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        for package in PACKAGES:
            spec = find_spec(package)
            assert spec is not None
            assert spec.origin is not None
            shutil.copytree(Path(spec.origin).parent, partial / package)
        for library in sorted(partial.rglob("*.so*")):
            replace_questions(library)
        partial.rename(site)
    return {"PYTHONPATH": str(site), "LD_PRELOAD": str(answers(_PLACE))}


def answers(place: Path) -> Path:
    """The library that answers in place of `cpuid`, made in a folder."""
    library, source = place / "cpuid.so", Path(__file__).with_name("older.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


def replace_questions(library: Path) -> None:
    """Puts ud2 for each cpuid of a shared library or a program.

    Raises:
        ValueError: the disassembler reports one where there is none.
    """
    code = bytearray(library.read_bytes())
    if _CPUID not in code:
        return
    segments = _segments(library)
    for address in _addresses(library):
        start = next(address - a + o for o, a, size in segments if a <= address < a + size)
        if code[start : start + 2] != _CPUID:
            raise ValueError(f"{library}: no cpuid at {address:#x}")
        code[start : start + 2] = _UD2
    library.write_bytes(code)


def _addresses(library: Path) -> list[int]:
    """Where the code of a library has the instruction."""
    return [
        int(m[1], 16)
        for m in re.finditer(
            r"^ *([0-9a-f]+):\s+cpuid\b", _output_of("objdump", "-dw", "--no-show-raw-insn", library), re.M
        )
    ]


def _segments(library: Path) -> list[tuple[int, int, int]]:
    """Offset in the file, address, and size in bytes of what is loaded."""
    rows = re.finditer(r"^ *LOAD +(0x\w+) +(0x\w+) +0x\w+ +(0x\w+)", _output_of("readelf", "-lW", library), re.M)
    return [(int(r[1], 16), int(r[2], 16), int(r[3], 16)) for r in rows]


def _output_of(*command: str | Path) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

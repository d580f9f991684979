"""Programs for Cortex-M cores, run by qemu-system-arm on boards that it knows, with newlib's files and console of the emulator."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

CC = "arm-none-eabi-gcc"
EMULATOR = "qemu-system-arm"
_HERE = Path(__file__).parent / "boards"


class Board(NamedTuple):
    """A board: its name in qemu, the core, its floats, and the memory for code and for data, each as `address, LENGTH = size`."""

    machine: str
    mcpu: str
    floats: str
    code: str
    data: str

    @property
    def flags(self) -> list[str]:
        """For the compiler, of objects and of programs; `prepare` has to put two files into the folder where programs are linked."""
        link_flags = ["--specs=rdimon.specs", "-Wl,-T,program.ld", "-Wl,startup.o"]
        return [f"-mcpu={self.mcpu}", "-mthumb", f"-mfloat-abi={self.floats}", *link_flags]

    @property
    def emulator(self) -> str:
        """What runs a program, whose name comes last."""
        files = "-semihosting-config enable=on,target=native"
        return f"{EMULATOR} -machine {self.machine} -nographic -monitor none -serial none {files} -kernel"

    def prepare(self, folder: Path) -> None:
        """What programs that are linked in a folder begin with, and where their parts lie."""
        text = (_HERE / "program.ld").read_text(encoding="utf-8")
        (folder / "program.ld").write_text(text.replace("@CODE@", self.code).replace("@DATA@", self.data))
        compiled = [CC, *self.flags[:3], "-O1", "-c", "-o", "startup.o", str(_HERE / "startup.c")]
        subprocess.run(compiled, cwd=folder, check=True)


_SSRAM = ("0x00000000, LENGTH = 4M", "0x20000000, LENGTH = 4M")
BOARDS = {
    "Cortex-M4": Board("mps2-an386", "cortex-m4", "hard", *_SSRAM),
    "Cortex-M7": Board("mps2-an500", "cortex-m7", "hard", *_SSRAM),
    "Cortex-M33": Board("mps2-an505", "cortex-m33", "hard", "0x10000000, LENGTH = 4M", "0x38000000, LENGTH = 2M"),
    "Cortex-M55": Board("mps3-an547", "cortex-m55", "hard", "0x00000000, LENGTH = 384K", "0x01000000, LENGTH = 2M"),
}
"""By the core's name."""

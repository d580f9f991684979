"""A library that irtool built, called through ctypes as a program in C would call it."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Sequence
from pathlib import Path


class Engine:
    """The network of a build in a folder. The number of threads is that of `OMP_NUM_THREADS`."""

    def __init__(self, folder: str, threads: int) -> None:
        report = json.loads(Path(folder, "net.irtool.json").read_text())["report"]
        self._library = ctypes.CDLL(str(Path(folder, "net.so")))
        if self._library.net_load_weights(str(Path(folder, "net.bin")).encode()):
            raise RuntimeError("the weights cannot be loaded")
        self._net = ctypes.create_string_buffer(report["instance_bytes"] + 64)
        address = ctypes.addressof(self._net)
        self._address = ctypes.c_void_p(address + -address % 64)
        shape = next(o["shape"] for o in report["outputs"])
        self._logits = (ctypes.c_float * int(shape[-1]))()

    def generate(self, prompt: Sequence[int], following: Sequence[int], chunk: int = 128) -> None:
        """Reads a prompt in chunks, and tokens one by one behind it; the logits behind each part are computed."""
        self._library.net_init(self._address)
        for n in range(0, len(prompt), chunk):
            self._step(prompt[n : n + chunk])
        for token in following:
            self._step([token])

    def _step(self, part: Sequence[int]) -> None:
        ids = (ctypes.c_int32 * len(part))(*part)
        if self._library.net_step(self._address, ctypes.c_int64(len(part)), ids, self._logits):
            raise RuntimeError("a step failed")

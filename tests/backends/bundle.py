"""Many compiled modules in one program: each runs once, on memory painted with 0xFF, in buffers of exactly its sizes.

Those of the backend C are compiled with the program, those of LLVM are object files."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import irtool

_STORED = {"bool": "uint8", "bfloat16": "uint16", "float16": "uint16"}

_MAIN = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static FILE *in, *out;
void *painted(size_t n);
void *given(size_t n);
void taken(void *data, size_t n);
void *painted(size_t n) { void *p = malloc(n ? n : 1); if (!p) exit(3); memset(p, 0xFF, n); return p; }
void *given(size_t n) { void *p = painted(n); if (fread(p, 1, n, in) != n) exit(4); return p; }
void taken(void *data, size_t n) { if (fwrite(data, 1, n, out) != n) exit(5); free(data); }
"""


class Bundle:
    """Modules and their inputs, as C in a folder; `run` gives the outputs of all, flat, as the C compiler's program made them."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.options = {"mcpu": "native", **options}
        self.names: list[str] = []
        self.results: list[list[Any]] = []
        self.data: list[bytes] = []
        self.calls: list[str] = []
        self.emit = "obj" if str(options.get("target", "c")).startswith("llvm") else "c"
        self.objects: list[str] = []

    def add(self, module: Any, inputs: Sequence[Any]) -> None:
        """Writes the C of a module, and how it is run on the inputs."""
        name = f"n{len(self.names)}"
        artifact = irtool.build(
            module, name=name, emit=self.emit, out_dir=self.folder, weights="inline", **self.options
        )
        if self.emit == "obj":
            self.objects.append(f"{name}_net.o")
            (self.folder / f"{name}.o").rename(self.folder / self.objects[-1])
        taken, outputs = artifact.report["inputs"], artifact.report["outputs"]
        arrays = _leaves(list(inputs))
        assert [a.nbytes for a in arrays] == [t["bytes"] for t in taken]
        upper = name.upper()
        lines = [f"  void *arena = painted({upper}_ARENA_SIZE);"]
        lines += [f"  void *i{k} = given({a.nbytes}u);" for k, a in enumerate(arrays)]
        lines += [f"  void *o{k} = painted({t['bytes']}u);" for k, t in enumerate(outputs)]
        tensors = [f"i{k}" for k in range(len(arrays))] + [f"o{k}" for k in range(len(outputs))]
        arguments = ", ".join(["arena", f"{upper}_ARENA_SIZE", *tensors])
        lines += [f"  if ({name}_run_with({arguments})) exit(6);"]
        lines += [f"  taken(o{k}, {t['bytes']}u);" for k, t in enumerate(outputs)]
        lines += [f"  free({t});" for t in ["arena", *tensors[: len(arrays)]]]
        driver = f'#include "{name}.h"\n#include <stdlib.h>\nvoid *painted(size_t n);\nvoid *given(size_t n);\n'
        driver += f"void taken(void *data, size_t n);\nvoid do_{name}(void);\nvoid do_{name}(void) {{\n"
        with (self.folder / f"{name}.c").open("a", encoding="utf-8") as source:
            source.write("\n" + driver + "\n".join(lines) + "\n}\n")
        self.names.append(name)
        self.results.append(outputs)
        self.data += [a.tobytes() for a in arrays]

    def run(self, flags: Sequence[str] = (), cc: str = "cc", prefix: Sequence[str] = ()) -> list[list[np.ndarray]]:
        """Compiles everything and runs it. Raises AssertionError with what the compiler or the program complained of."""
        declared = "".join(f"void do_{n}(void);\n" for n in self.names)
        calls = "".join(f'  fprintf(stderr, "{n}\\n"); do_{n}();\n' for n in self.names)
        main = f'{_MAIN}{declared}int main(void) {{\n  in = fopen("in.bin", "rb"); out = fopen("out.bin", "wb");\n'
        main += f"  if (!in || !out) return 2;\n{calls}  fclose(in);\n  return fclose(out);\n}}\n"
        (self.folder / "main.c").write_text(main, encoding="utf-8")
        (self.folder / "in.bin").write_bytes(b"".join(self.data))
        sources = [*(f"{n}.c" for n in self.names), "main.c"]
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda s: self._call([cc, "-std=c99", *flags, "-c", s]), sources))
        objects = [*(f"{s[:-2]}.o" for s in sources), *self.objects]
        self._call([cc, *flags, "-o", "all", *objects, "-lm"])
        self._call([*prefix, "./all"])
        raw, offset = (self.folder / "out.bin").read_bytes(), 0
        results: list[list[np.ndarray]] = []
        for tensors in self.results:
            results.append([])
            for t in tensors:
                stored = np.dtype(_STORED.get(t["dtype"], t["dtype"]))
                array = np.frombuffer(raw, stored, t["bytes"] // stored.itemsize, offset)
                results[-1].append(_widened(array, t["dtype"]).reshape(t["shape"]))
                offset += t["bytes"]
        assert offset == len(raw)
        return results

    def _call(self, command: Sequence[str]) -> None:
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=300, check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stderr[-3000:]}"


def _widened(array: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "float16":
        return array.view("float16")
    if dtype == "bfloat16":
        return (array.astype("uint32") << 16).view("float32")
    return array


def leaves(value: Any) -> list[np.ndarray]:
    """The arrays of a result, tuples flattened, bfloat16 as float32."""
    return [a.astype("float32") if a.dtype.name == "bfloat16" else a for a in _leaves(value)]


def _leaves(value: Any) -> list[np.ndarray]:
    leaves: list[np.ndarray] = []
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, tuple | list):
            stack.extend(reversed(v))
        else:
            leaves.append(np.asarray(v))
    return leaves


def assert_close(got: Sequence[np.ndarray], want: Sequence[np.ndarray], tolerance: float, about: str = "") -> None:
    """Equal shapes; integers equal; floats within the tolerance, relative and absolute (2e-2 of half precision)."""
    assert len(got) == len(want), about
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape, about
        if w.dtype.kind in "fc":
            loose = 2e-2 if w.dtype.itemsize <= 2 else tolerance
            np.testing.assert_allclose(
                g.astype("float64"), w.astype("float64"), rtol=loose, atol=loose, equal_nan=True, err_msg=about
            )
        else:
            np.testing.assert_array_equal(g.astype(w.dtype), w, err_msg=about)

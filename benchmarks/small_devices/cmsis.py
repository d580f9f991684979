"""Networks of MLPerf Tiny by the kernels of CMSIS-NN, called in the order of the layers, on emulated boards.

The sources are those of a clone of CMSIS-NN (Apache-2.0), compiled as its CMake file does (`-Ofast`); nothing of them is part of irtool. Weights are
small whole numbers: instructions depend on the shapes alone.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from pathlib import Path

from irtool.boards.board import Board
from irtool.boards.counts import counting_flags, read_counts
from irtool.boards.project import link_flags, linker_script, startup_code
from irtool.boards.running import BoardRun

from ..networks.mlperf_tiny import Layer, Layers

_ROOMS = (
    "ConvolutionFunctions",
    "FullyConnectedFunctions",
    "PoolingFunctions",
    "SoftmaxFunctions",
    "BasicMathFunctions",
    "NNSupportFunctions",
    "PadFunctions",
    "ReshapeFunctions",
    "TransposeFunctions",
)


@dataclass(frozen=True)
class CmsisCounts:
    """A network by CMSIS-NN.

    Attributes:
        instructions: of a run.
        layers: those of each layer, in order.
        code_bytes: of the kernels of CMSIS-NN that are linked, with the functions of the C library.
        ram_bytes: the most bytes of tensors and scratch buffers that a layer needs at one time, with the tensors that later layers read.
    """

    instructions: int
    layers: tuple[int, ...]
    code_bytes: int
    ram_bytes: int


def library(clone: Path, board: Board, folder: Path) -> Path:
    """The archive of the kernels of 8 bits for a board; the objects stay in the folder."""
    sources = sorted(
        s
        for room in _ROOMS
        for s in (clone / "Source" / room).glob("*.c")
        if not s.stem.endswith(("_s4", "_f16", "_f32"))
    )
    command = [board.compiler, f"-mcpu={board.processor}", *_flags(board), "-Ofast", "-I", str(clone / "Include")]

    def compile_one(source: Path) -> str:
        target = folder / f"{source.stem}.o"
        subprocess.run([*command, "-c", "-o", target, source], check=True, capture_output=True)
        return str(target)

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compile_one, sources))
    archive = folder / "libcmsis-nn.a"
    subprocess.run([f"{board.prefix}ar", "rcs", archive, *objects], check=True)
    return archive


def _flags(board: Board) -> list[str]:
    return [
        *board.flags[:2],
        *(f for f in board.flags if f.startswith("-mfloat")),
        "-ffunction-sections",
        "-fdata-sections",
    ]


def count(clone: Path, board: Board, archive: Path, net: Layers, folder: Path) -> CmsisCounts:
    """The network on the board."""
    (folder / "main.c").write_text(program(net))
    (folder / "startup.c").write_text(startup_code(board))
    (folder / "board.ld").write_text(linker_script(board, 4096))
    base = [board.compiler, f"-mcpu={board.processor}", *_flags(board), "-O2", "-I", str(clone / "Include")]
    hooks = counting_flags(len(net.rows) + 4, "main,prepare").split()
    subprocess.run([*base, *hooks, "-c", "-o", "main.o", "main.c"], cwd=folder, check=True)
    subprocess.run([*base, hooks[0], "-c", "-o", "startup.o", "startup.c"], cwd=folder, check=True)
    link = [*base, *link_flags(board), "-Wl,--gc-sections", "-Wl,-u,start", "-o", "program"]
    subprocess.run([*link, "main.o", "startup.o", str(archive), "-lm"], cwd=folder, check=True)
    run = BoardRun({"board": board.record(), "kernels": []}, folder / "program", 600, True)
    run.run(["program"], folder)
    counts = read_counts("".join(run.printed), folder / "program", board.prefix)
    layers = tuple(counts[f"layer_{n}"].instructions for n in range(len(net.rows)))
    scratch = [int(line.split()[1]) for line in run.printed[0].splitlines() if line.startswith("SCRATCH ")]
    return CmsisCounts(sum(layers), layers, _code_bytes(board, folder), _ram(net, scratch))


def _code_bytes(board: Board, folder: Path) -> int:
    """The bytes of functions and tables whose names CMSIS-NN has."""
    symbols = subprocess.run(
        [f"{board.prefix}nm", "-P", "-S", folder / "program"], capture_output=True, text=True, check=True
    )
    rows = (line.split() for line in symbols.stdout.splitlines())
    return sum(
        int(r[3], 16) for r in rows if len(r) == 4 and r[1] in "tTrR" and r[0].startswith(("arm_", "one_over", "exp_"))
    )


def _ram(net: Layers, scratch: Sequence[int]) -> int:
    last = {i: n for n, layer in enumerate(net.rows) for i in layer.inputs}
    most = 0
    for n, (layer, extra) in enumerate(zip(net.rows, scratch, strict=True)):
        live = {*layer.inputs, n + 1, *(t for t in range(n + 1) if last.get(t, -1) > n)}
        most = max(most, extra + sum(prod(net.shape(t)) for t in live))
    return most


def program(net: Layers) -> str:
    """The C of a program that runs the network once, each layer in a function of its own."""
    lines = ["#include <stdio.h>", "#include <stdlib.h>", '#include "arm_nnfunctions.h"', ""]
    lines += [f"static int8_t t{n}[{prod(net.shape(n))}];" for n in range(len(net.rows) + 1)]
    widest = max(layer.result[0] for layer in net.rows)
    lines += [
        f"static int32_t multipliers[{widest}], shifts[{widest}];",
        "static int wrong;",
        *(line for n, layer in enumerate(net.rows) for line in _layer(n, layer)),
        "static void prepare(void) {",
        "  int i;",
        f"  for (i = 0; i < {widest}; ++i) multipliers[i] = 1 << 30, shifts[i] = -7;",
        f"  for (i = 0; i < {prod(net.input)}; ++i) t0[i] = (int8_t)(i * 37);",
        *(f"  prepare_{n}();" for n in range(len(net.rows))),
        "}",
        "int main(int argc, char **argv) {",
        "  (void)argc;",
        "  (void)argv;",
        "  prepare();",
        *(f"  layer_{n}();" for n in range(len(net.rows))),
        '  printf("%d kernels failed\\n", wrong);',
        "  return wrong;",
        "}",
        "",
    ]
    return "\n".join(lines)


def _dims(n: int, h: int, w: int, c: int) -> str:
    return f"{{{n}, {h}, {w}, {c}}}"


def _layer(n: int, layer: Layer) -> Iterator[str]:
    """The data of a layer, the function that prepares it, and the one that runs it."""
    (cin, h, w), (cout, oh, ow) = layer.shape, layer.result
    kh, kw = layer.kernel
    source, target = f"t{layer.inputs[0]}", f"t{n + 1}"
    floor = 0 if layer.relu else -128
    activation = f"{{{floor}, 127}}"
    declared = [f"static cmsis_nn_context c{n};"]
    filled: list[str] = []
    need = "0"
    if layer.kind in ("conv", "depthwise", "dense"):
        size = {"conv": cout * kh * kw * cin, "depthwise": cout * kh * kw, "dense": cout * cin}[layer.kind]
        declared += [f"static int8_t w{n}[{size}];", f"static int32_t b{n}[{cout}];"]
        filled.append(f"  for (i = 0; i < {size}; ++i) w{n}[i] = (int8_t)(i * 29 % 15 - 7);")
        declared += [
            f"static const cmsis_nn_dims i{n} = {_dims(1, h, w, cin)}, o{n} = {_dims(1, oh, ow, cout)}, d{n} = {_dims(1, 1, 1, cout)};"
        ]
    top, left = layer.padding[0][0], layer.padding[1][0]
    geometry = f"{{{layer.stride}, {layer.stride}}}, {{{left}, {top}}}, {{1, 1}}, {activation}"
    if layer.kind == "conv":
        declared.append(f"static const cmsis_nn_conv_params p{n} = {{3, -2, {geometry}}};")
        declared.append(f"static const cmsis_nn_dims f{n} = {_dims(cout, kh, kw, cin)};")
        need = f"arm_convolve_wrapper_s8_get_buffer_size(&p{n}, &i{n}, &f{n}, &o{n})"
        call = f"arm_convolve_wrapper_s8(&c{n}, &p{n}, &q, &i{n}, {source}, &f{n}, w{n}, &d{n}, b{n}, &o{n}, {target})"
    elif layer.kind == "depthwise":
        declared.append(f"static const cmsis_nn_dw_conv_params p{n} = {{3, -2, 1, {geometry}}};")
        declared.append(f"static const cmsis_nn_dims f{n} = {_dims(1, kh, kw, cout)};")
        need = f"arm_depthwise_conv_wrapper_s8_get_buffer_size(&p{n}, &i{n}, &f{n}, &o{n})"
        call = f"arm_depthwise_conv_wrapper_s8(&c{n}, &p{n}, &q, &i{n}, {source}, &f{n}, w{n}, &d{n}, b{n}, &o{n}, {target})"
    elif layer.kind == "dense":
        declared.append(f"static const cmsis_nn_fc_params p{n} = {{3, 0, -2, {activation}}};")
        declared.append(f"static const cmsis_nn_dims f{n} = {_dims(cin, 1, 1, cout)};")
        declared.append(f"static const cmsis_nn_per_tensor_quant_params q{n} = {{1 << 30, -7}};")
        need = f"arm_fully_connected_s8_get_buffer_size(&f{n})"
        filled.append(f"  if (c{n}.size) arm_vector_sum_s8(c{n}.buf, {cin}, {cout}, w{n}, 3, 0, b{n});")
        call = (
            f"arm_fully_connected_s8(&c{n}, &p{n}, &q{n}, &i{n}, {source}, &f{n}, w{n}, &d{n}, b{n}, &o{n}, {target})"
        )
    elif layer.kind == "average":
        declared.append(f"static const cmsis_nn_pool_params p{n} = {{{{1, 1}}, {{0, 0}}, {activation}}};")
        declared.append(
            f"static const cmsis_nn_dims i{n} = {_dims(1, h, w, cin)}, f{n} = {_dims(1, kh, kw, 1)}, o{n} = {_dims(1, 1, 1, cout)};"
        )
        need = f"arm_avgpool_s8_get_buffer_size(1, {cin})"
        call = f"arm_avgpool_s8(&c{n}, &p{n}, &i{n}, {source}, &f{n}, &o{n}, {target})"
    elif layer.kind == "add":
        other = f"t{layer.inputs[1]}"
        scales = "3, 1 << 30, 0, 2, 1 << 30, 0, 20"
        call = f"arm_elementwise_add_s8({source}, {other}, {scales}, {target}, -2, 1 << 30, -18, {floor}, 127, {cout * oh * ow})"
    else:
        call = f"(arm_softmax_s8({source}, 1, {cout}, 1 << 30, 23, -248, {target}), ARM_CMSIS_NN_SUCCESS)"
    yield from declared
    yield f"static void prepare_{n}(void) {{"
    yield "  int i = 0;"
    yield "  (void)i;"
    yield f"  c{n}.size = {need};"
    yield f"  c{n}.buf = c{n}.size ? malloc((size_t)c{n}.size) : NULL;"
    yield f'  printf("SCRATCH %d\\n", (int)c{n}.size);'
    yield from filled
    yield "}"
    yield f"__attribute__((noinline)) static void layer_{n}(void) {{"
    yield "  const cmsis_nn_per_channel_quant_params q = {multipliers, shifts};"
    yield "  (void)q;"
    yield f"  wrong += {call} != ARM_CMSIS_NN_SUCCESS;"
    yield "}"

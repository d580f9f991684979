"""GGUF files: each format is what its definition says, number by number; damaged and hostile files are refused in little memory."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.ir.block_tensor import BlockTensor
from irtool.ir.conversion import dtype_name
from irtool.parser.gguf_formats import FORMATS, decode
from irtool.parser.params import read_params
from tests.command_line import irtool as command

RNG = np.random.default_rng(0)
HALVES = {2: [0], 3: [0, 2], 6: [0], 7: [0, 2], 8: [0], 12: [0, 2], 14: [208]}
"""The places of float16 numbers in a block of each format."""
PACKED = {f.name: n for n, f in FORMATS.items() if f.block > 1}


def blocks(number: int, rows: int, columns: int) -> bytes:
    """Random blocks with finite scales."""
    form = FORMATS[number]
    raw = RNG.integers(0, 256, (rows * columns // form.block, form.nbytes)).astype("uint8")
    for first in HALVES[number]:
        raw[:, first : first + 2] = RNG.uniform(-1, 1, len(raw)).astype("<f2").view("uint8").reshape(-1, 2)
    return raw.tobytes()


def half(raw: bytes, first: int) -> np.float32:
    """The float16 at a byte."""
    return np.float32(struct.unpack_from("<e", raw, first)[0])


def low_then_high(raw: bytes) -> list[int]:
    """The low halves of bytes, then the high ones."""
    return [b & 15 for b in raw] + [b >> 4 for b in raw]


def numbers_of(name: str, b: bytes) -> list[np.float32]:
    """The elements of one block, by the definition of the format."""
    d = half(b, 0)
    if name == "Q4_0":
        return [d * np.float32(q - 8) for q in low_then_high(b[2:])]
    if name == "Q4_1":
        return [d * np.float32(q) + half(b, 2) for q in low_then_high(b[4:])]
    if name in ("Q5_0", "Q5_1"):
        first = 2 if name == "Q5_0" else 4
        (high,) = struct.unpack_from("<I", b, first)
        q = [n | (high >> i & 1) << 4 for i, n in enumerate(low_then_high(b[first + 4 :]))]
        return [d * np.float32(n - 16) for n in q] if name == "Q5_0" else [d * np.float32(n) + half(b, 2) for n in q]
    if name == "Q8_0":
        return [d * np.float32(q) for q in struct.unpack_from("<32b", b, 2)]
    if name == "Q4_K":
        return _q4_k(b)
    return _q6_k(b)


def _q4_k(b: bytes) -> list[np.float32]:
    d, least, s = half(b, 0), half(b, 2), b[4:16]
    result = []
    for block in range(8):
        if block < 4:
            scale, minimum = s[block] & 63, s[block + 4] & 63
        else:
            scale = s[block + 4] & 15 | s[block - 4] >> 6 << 4
            minimum = s[block + 4] >> 4 | s[block] >> 6 << 4
        chunk = b[16 + 32 * (block // 2) :][:32]
        for byte in chunk:
            q = byte >> 4 if block % 2 else byte & 15
            result.append(d * np.float32(scale) * np.float32(q) - least * np.float32(minimum))
    return result


def _q6_k(b: bytes) -> list[np.float32]:
    low, high, scales, d = b[:128], b[128:192], struct.unpack_from("<16b", b, 192), half(b, 208)
    result = []
    for i in range(256):
        part, place = i // 128, i % 128
        quarter, lane = place // 32, place % 32
        byte = low[64 * part + lane + 32 * (quarter % 2)]
        q = (byte >> 4 if quarter >= 2 else byte & 15) | (high[32 * part + lane] >> 2 * quarter & 3) << 4
        result.append(d * np.float32(scales[i // 16]) * np.float32(q - 32))
    return result


@pytest.mark.parametrize("name", PACKED)
def test_each_format_is_what_its_definition_says(name: str) -> None:
    form, rows = FORMATS[PACKED[name]], 3
    raw = blocks(PACKED[name], rows, 2 * form.block)
    expected = np.concatenate([numbers_of(name, raw[n : n + form.nbytes]) for n in range(0, len(raw), form.nbytes)])
    tensor = decode(memoryview(raw), PACKED[name], (rows, 2 * form.block))
    assert isinstance(tensor, BlockTensor)
    np.testing.assert_array_equal(np.asarray(tensor).ravel(), expected)


@pytest.mark.parametrize("name", PACKED)
def test_the_reference_agrees(name: str) -> None:
    gguf = pytest.importorskip("gguf")
    columns = 2 * FORMATS[PACKED[name]].block
    raw = blocks(PACKED[name], 5, columns)
    tensor = decode(memoryview(raw), PACKED[name], (5, columns))
    kind = gguf.GGMLQuantizationType(PACKED[name])
    rows = np.frombuffer(raw, "uint8").reshape(5, -1)
    np.testing.assert_array_equal(np.asarray(tensor), gguf.quants.dequantize(rows, kind))


def text(s: str) -> bytes:
    """A string of the format."""
    return struct.pack("<Q", len(s)) + s.encode()


def file_of(tensors: dict[str, tuple[int, tuple[int, ...], bytes]], version: int = 3) -> bytes:
    """A file of tensors by name: format, shape, bytes."""
    metadata = text("general.architecture") + struct.pack("<I", 8) + text("llama")
    metadata += text("tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bc")
    table, data = b"", b""
    for name, (number, shape, raw) in tensors.items():
        table += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], number, len(data))
        data += raw + bytes(-len(raw) % 32)
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), 2) + metadata + table
    return head + bytes(-len(head) % 32) + data


def whole() -> bytes:
    """A file of every format."""
    tensors = {n.lower(): (k, (4, 256), blocks(k, 4, 256)) for n, k in PACKED.items()}
    plain = RNG.standard_normal((4, 8)).astype("float32")
    tensors["f32"] = (0, (4, 8), plain.tobytes())
    tensors["f16"] = (1, (4, 8), plain.astype("<f2").tobytes())
    tensors["bf16"] = (30, (4, 8), (plain.view("<u4") >> 16).astype("<u2").tobytes())
    return file_of(tensors)


def test_a_file_of_every_format(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(whole())
    params = read_params(tmp_path / "m.gguf")
    assert list(params) == [*(n.lower() for n in PACKED), "f32", "f16", "bf16"]
    assert dtype_name(params["bf16"]) == "bfloat16" and params["f16"].dtype == "float16"
    assert [params[n].dtype for n in ("q4_0", "q4_1", "q5_0")] == ["int4", "uint4", "int8"]


@pytest.mark.parametrize("name", PACKED)
def test_a_layer_reads_the_blocks(name: str, tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(file_of({"blk.0.w": (PACKED[name], (8, 512), blocks(PACKED[name], 8, 512))}))
    params = read_params(tmp_path / "m.gguf")
    module = irtool.parse(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(2, 512), float32], %blk.0.w: Tensor[(8, 512), float32]) { nn.dense(%x, %blk.0.w, units=8) }\n"
    )
    artifact = irtool.build(module, params=params)
    x = RNG.standard_normal((2, 512)).astype("float32")
    matrix = np.asarray(params["blk.0.w"]).astype("float64")
    np.testing.assert_allclose(np.asarray(artifact.run([x])), x @ matrix.T, rtol=1e-4, atol=1e-3)
    assert artifact.arena_bytes == 0 and artifact.report["weight_bytes"] == params["blk.0.w"].nbytes


def test_all_mismatches_in_one_run(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(file_of({n: (2, (4, 32), blocks(2, 4, 32)) for n in "abc"}))
    module = irtool.parse(
        '#[version = "0.0.5"]\n'
        "def @main(%a: Tensor[(4, 64), float32], %b: Tensor[(4, 32), float32], %c: Tensor[(4, 32), int8]) { (%a, %b, %c) }\n"
    )
    with pytest.raises(IrError) as caught:
        irtool.build(module, params=read_params(tmp_path / "m.gguf"))
    messages = [d.message for d in caught.value.diagnostics]
    assert len(messages) == 2 and "%a" in messages[0] and "Q4_0[4, 32]" in messages[0] and "%c" in messages[1]
    assert all("m.gguf" in d.notes[0] for d in caught.value.diagnostics)


def refused(data: bytes, path: Path) -> str:
    """The message of a file that is refused."""
    path.write_bytes(data)
    with pytest.raises(IrError) as caught:
        read_params(path)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.filename == str(path)
    return diagnostic.message


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    raw = blocks(2, 4, 32)
    unknown = {
        "a": (10, (4, 256), bytes(336)),
        "b": (10, (1, 256), bytes(84)),
        "c": (99, (4,), bytes(4)),
        "d": (2, (4, 32), raw),
    }
    assert "Q2_K: a, b; format 99: c" in refused(file_of(unknown), path)
    assert "whole blocks of 32" in refused(file_of({"a": (2, (4, 33), raw)}), path)
    assert "5 axes" in refused(file_of({"a": (0, (1,) * 5, bytes(4))}), path)
    assert "version 9" in refused(file_of({}, version=9), path)
    twice = file_of({"a": (2, (4, 32), raw), "b": (2, (4, 32), raw)}).replace(
        text("b") + struct.pack("<I", 2), text("a") + struct.pack("<I", 2)
    )
    assert "a is there twice" in refused(twice, path)
    shared = {f"t{n}": (0, (64,), b"") for n in range(50)}
    assert "the tensors take 13056 bytes" in refused(file_of({**shared, "z": (0, (64,), bytes(256))}), path)
    huge = file_of({"a": (0, (1 << 40, 1 << 40), b"")})
    assert "has the shape" in refused(huge, path)


@pytest.mark.parametrize("first", range(4))
def test_truncated_and_changed_files(first: int, tmp_path: Path) -> None:
    data = whole()
    header = len(data) - sum(-(-FORMATS[k].nbytes * 1024 // FORMATS[k].block // 32) * 32 for k in PACKED.values())
    rng = np.random.default_rng(first)
    path = tmp_path / "m.gguf"
    tracemalloc.start()
    for _ in range(60):
        changed = bytearray(data)
        if rng.random() < 0.3:
            del changed[int(rng.integers(4, len(data))) :]
        else:
            for _ in range(int(rng.integers(1, 4))):
                place = int(rng.integers(4, header))
                changed[place] = int(rng.choice([0, 1, 127, 255, rng.integers(0, 256)]))
        path.write_bytes(bytes(changed))
        try:
            read_params(path)
        except IrError as error:
            assert error.diagnostics[0].filename == str(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * len(data)


def test_other_formats_have_the_real_numbers(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(whole())
    code, out, err = command("convert", tmp_path / "m.gguf", "-o", tmp_path / "m.params", "--only", "q4_k|f16")
    assert code == 0 and "q4_k is unpacked to float32" in err
    assert f"(2 tensors, {4 * 256 * 4 + 4 * 8 * 2} bytes)" in out
    assert {n: a.dtype for n, a in read_params(tmp_path / "m.params").items()} == {"q4_k": "float32", "f16": "float16"}

"""Parameter files, TVM's and numpy's."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from irtool.diagnostics import IrError
from irtool.parser.params import decode_params, encode_params, read_params, write_params

FORMATS = Path(__file__).parents[3] / "shared" / "formats"


def some_params() -> dict[str, np.ndarray]:
    r = np.random.default_rng(0)
    return {
        "w": r.standard_normal((3, 4)).astype("float32"),
        "h": np.array([[1.5, -2.25]], "float16"),
        "flag": np.array([True, False, True]),
        "layer1.0/conv:0": np.arange(6).reshape(2, 3)[:, ::-1],
        "scalar": np.array(7, "uint8"),
        "empty": np.zeros((0, 3)),
        "é": np.array([-1], "int16"),
    }


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return list(a) == list(b) and all(a[n].dtype == b[n].dtype and np.array_equal(a[n], b[n]) for n in a)


@pytest.mark.parametrize("name", ["p.params", "p.npz", "p.bin"])
def test_round_trip(tmp_path, name):
    write_params(tmp_path / name, some_params())
    assert same(read_params(tmp_path / name), some_params())
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["p.params", "p.npz"])
def test_the_same_tensors_make_the_same_bytes(tmp_path, name):
    write_params(tmp_path / name, some_params())
    first = (tmp_path / name).read_bytes()
    write_params(tmp_path / name, some_params())
    assert (tmp_path / name).read_bytes() == first


@pytest.mark.skipif(not FORMATS.exists(), reason="the samples are not here")
def test_the_peers_own_file():
    peer = read_params(FORMATS / "tiny.params")
    plain = read_params(FORMATS / "tiny.npz")
    assert sorted(peer) == sorted(plain)
    assert all(peer[n].dtype == plain[n].dtype and np.array_equal(peer[n], plain[n]) for n in plain)
    assert encode_params(peer) == (FORMATS / "tiny.params").read_bytes()


def test_every_cut_is_noticed():
    data = encode_params(some_params())
    for cut in range(len(data)):
        with pytest.raises(ValueError):
            decode_params(data[:cut])


def test_damage_is_noticed():
    data = encode_params(some_params())
    with pytest.raises(ValueError, match="other bytes"):
        decode_params(data + b"x")
    with pytest.raises(ValueError, match="cannot hold"):
        decode_params(data[:16] + struct.pack("<Q", 2**63) + data[24:])
    with pytest.raises(ValueError, match="cut off"):
        decode_params(data[:24] + struct.pack("<Q", 2**63) + data[32:])


def test_other_files_are_refused(tmp_path):
    file = tmp_path / "x"
    for content in (b"", b"hello", b"PK\x03\x04 no archive", b"\x00" * 100):
        file.write_bytes(content)
        with pytest.raises(IrError):
            read_params(file)


def test_objects_are_not_read(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.array([{}], dtype=object))
    with pytest.raises(IrError, match="Python objects"):
        read_params(tmp_path / "x.npz")


def test_a_dtype_that_the_form_cannot_hold(tmp_path):
    with pytest.raises(IrError, match="parameter c: tensors of complex64"):
        write_params(tmp_path / "x.params", {"c": np.zeros(1, "complex64")})
    assert list(tmp_path.iterdir()) == []


def write_shards(folder: Path, index: object) -> Path:
    pytest.importorskip("safetensors")
    write_params(folder / "a.safetensors", {"w": np.float32([1, 2]), "h": np.float16([3])})
    write_params(folder / "b.safetensors", {"v": np.int64([[4]])})
    path = folder / "model.safetensors.index.json"
    path.write_text(index if isinstance(index, str) else json.dumps(index))
    return path


def test_an_index_is_all_its_files(tmp_path: Path) -> None:
    weight_map = {"v": "b.safetensors", "w": "a.safetensors", "h": "a.safetensors"}
    params = read_params(write_shards(tmp_path, {"metadata": {"total_size": 18}, "weight_map": weight_map}))
    assert {n: a.tolist() for n, a in params.items()} == {"w": [1, 2], "h": [3], "v": [[4]]}
    assert params.origins["v"] == str(tmp_path / "b.safetensors")


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("{", "this is no index of safetensors files: it has no weight_map"),
        ("{}", "this is no index of safetensors files: it has no weight_map"),
        ({"weight_map": {}}, "weight_map is no map from names of tensors to names of files"),
        ({"weight_map": {"w": 1}}, "weight_map is no map from names of tensors to names of files"),
        (
            {"weight_map": {"w": "../a.safetensors"}},
            "w is said to be in '../a.safetensors'; files of an index lie beside it",
        ),
        ({"weight_map": {"w": "c.safetensors"}}, "c.safetensors, which the index names: No such file or directory"),
        ({"weight_map": {"w": "a.safetensors"}}, "a.safetensors has, unlike the index, h"),
        ({"weight_map": {"u": "b.safetensors", "t": "b.safetensors"}}, "b.safetensors lacks t and 1 more"),
    ],
)
def test_wrong_indexes(tmp_path: Path, index: object, message: str) -> None:
    with pytest.raises(IrError) as raised:
        read_params(write_shards(tmp_path, index))
    assert message in str(raised.value) and "model.safetensors.index.json" in str(raised.value)

"""Commands take ONNX models as they take Relay text, and `import` writes them as text."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import irtool

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.promise("ONNX models")

TEXT = """# a model
<ir_version: 8, opset_import: ["": 17]>
net (float[N, 3] x) => (float[N, 3] y, float[2, 3] v)
<float[2, 3] w = {1, 2, 3, 4, 5, 6}>
{
  [first] z = Tanh(x)
  [second] y = Relu(z)
  v = Sqrt(w)
}
"""


def model() -> bytes:
    return onnx.parser.parse_model(TEXT).SerializeToString()


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "net.bin"  # the name says nothing: the contents do
    file.write_bytes(model())
    return file


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("form", ["npz", "params", "safetensors", "embedded"])
def test_import_writes_what_the_model_computes(form: str, path: Path) -> None:
    if form == "safetensors":
        pytest.importorskip("safetensors")
    code, out, err = irtool("import", path, "--dim", "N=2", "-o", "net.relay", f"--params-format={form}")
    assert (code, err) == (0, "") and "wrote net.relay" in out
    weights = [] if form == "embedded" else ["--params", f"net.{form}"]
    ours = irtool("run", "net.relay", *weights)[1]
    from_model = irtool("run", path, "--dim", "N=2")[1]
    assert ours == from_model and ours.startswith("out0 (y): float32[2, 3]")
    assert sorted(p.name for p in path.parent.glob("net*")) == sorted(
        ["net.bin", "net.relay", *([f"net.{form}"] if weights else [])]
    )


def test_every_command_takes_models(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in (
        ["check", "--target=c"],
        ["opt", "--passes=FuseOps"],
        ["info"],
        ["run", "--via=c"],
        ["build", "--emit=c"],
    ):
        code, out, err = irtool(*command, "--shape", "x=2x3", path)
        assert code == 0 and out, (command, err)
        feed(monkeypatch, model() if command[0] != "opt" else TEXT.encode())
        code, piped, err = irtool(*command, "--dim", "N=2", "-")
        assert code == 0, (command, err)
        assert piped == out or command[0] in ("run", "build")
    assert irtool("diff", path, path)[:2] == (0, "equal\n")
    assert Path("net.out/net.c").exists()


def test_given_weights_replace_the_models_and_inputs_may_be_among_them(path: Path) -> None:
    np.savez("w.npz", w=np.full((2, 3), 49, "float32"), x=np.zeros((5, 3), "float32"))
    code, out, err = irtool("run", path, "--params", "w.npz")
    assert code == 0, err
    assert out == "out0 (y): float32[5, 3]  0 0 0 0 0 0 0 0 …\nout1 (v): float32[2, 3]  7 7 7 7 7 7\n"


def test_arrays_of_inputs_settle_open_shapes(path: Path) -> None:
    np.save("x.npy", np.ones((4, 3), "float32"))
    code, out, err = irtool("run", "--via=c", "--input", "x=x.npy", path)
    assert code == 0 and out.startswith("out0 (y): float32[4, 3]  0.761594"), err


def test_extents_that_are_open_are_asked_for_unless_they_are_the_batch(path: Path) -> None:
    for command in ("build", "run"):
        code, _, err = irtool(command, path)
        assert code == 0 and "note: N is open: 1 is taken" in err and "--dim N=" in err
    text = '<ir_version: 8, opset_import: ["": 17]> net (float[N, M] x) => (float[N, M] y) { y = Relu(x) }'
    Path("two.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    for command in ("build", "run", "check --target=c"):
        code, _, err = irtool(*command.split(), "two.onnx")
        assert code == 1 and "error[E1003]" in err
        option = next(line for line in err.splitlines() if "for example" in line).split("example: ")[1].split(", or")[0]
        assert irtool(*command.split(), "two.onnx", *option.split())[0] == 0, option
    assert irtool("run", "two.onnx", "--dim", "N=0")[0] == 2
    assert "no dimension of an input is called n" in irtool("run", "two.onnx", "--dim", "n=1")[2]
    code, _, err = irtool("check", path, "--dim", "M=1")
    assert code != 0 and "no dimension" in err
    Path("a.relay").write_text("def @main(%x: Tensor[(?, 3), float32]) { %x }")
    code, _, err = irtool("opt", "a.relay", "--dim", "N=1")
    assert code == 2 and "no extent of a.relay has a name" in err


def test_builds_are_cached_by_the_models_content(path: Path) -> None:
    from onnx import external_data_helper

    proto = onnx.load_from_string(model())
    initializer = onnx.numpy_helper.from_array(np.ones((2, 3), "float32"), "w")
    proto.graph.initializer[0].CopyFrom(initializer)
    external_data_helper.set_external_data(proto.graph.initializer[0], "w.bin")
    proto.graph.initializer[0].ClearField("raw_data")
    Path("ext.onnx").write_bytes(proto.SerializeToString())

    def build(weight: float) -> bool:
        np.full((2, 3), weight, "float32").tofile("w.bin")
        code, out, err = irtool("build", "--emit=c", "ext.onnx", "--dim", "N=2")
        assert code == 0, err
        return "from the cache" in out

    assert [build(1), build(1), build(4), build(1)] == [False, True, False, True]
    assert irtool("build", "--emit=c", "ext.onnx", "--dim", "N=3")[1].count("from the cache") == 0


def test_import_writes_nothing_where_it_fails(path: Path) -> None:
    Path("bad.onnx").write_text(TEXT.replace("Tanh", "Tanhh"))
    before = set(path.parent.iterdir())
    assert irtool("import", "bad.onnx", "-o", "bad.relay")[0] == 1
    assert irtool("import", path, "-o", "bad.relay", "--params-out", "no/such/folder.npz")[0] == 1
    assert irtool("import", path, "-o", "no/such/folder.relay")[0] == 1
    assert irtool("import", path, "-o", "a.relay", "--params-out", "a.relay")[0] == 2
    assert irtool("import", path, "-o", "-")[0] == 2
    assert set(path.parent.iterdir()) == before


def test_expressions_name_the_nodes_of_the_model(path: Path) -> None:
    text = irtool("import", path, "--params-format=embedded", "--spans", "-o", "-")[1]
    assert f"span={path}:1:1(first) */" in text and f"span={path}:2:1(second) */" in text
    assert 'output_tensor_names=["y", "v"]' in text


def test_bfloat16_weights_stay_what_they_are(path: Path) -> None:
    pytest.importorskip("ml_dtypes")
    text = TEXT.replace("float[2, 3]", "bfloat16[2, 3]").replace("<bfloat16[2, 3] w = {1, 2, 3, 4, 5, 6}>", "")
    proto = onnx.parser.parse_model(text)
    proto.graph.initializer.append(onnx.helper.make_tensor("w", 16, [2, 3], [1, 4, 9, 16, 25, 36]))
    Path("b.onnx").write_bytes(proto.SerializeToString())
    want = irtool("run", "b.onnx", "--dim", "N=1")[1]
    assert "bfloat16" in want or "1 2 3 4 5 6" in want
    for form in ("npz", "params", "safetensors"):
        assert irtool("import", "b.onnx", "--dim", "N=1", "-o", "b.relay", f"--params-format={form}")[0] == 0
        code, out, err = irtool("run", "b.relay", "--params", f"b.{form}")
        assert (code, out) == (0, want), (form, err)


WITHOUT = """
import sys
sys.modules["onnx"] = None
from irtool.cli import run
print([run(words.split()) for words in sys.argv[1:]])
"""


def test_only_models_need_the_package(path: Path) -> None:
    Path("a.relay").write_text("def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }")
    commands = ["check a.relay", "import --help", f"build {path}", f"import {path} -o b.relay", f"opt {path}"]
    done = subprocess.run([sys.executable, "-c", WITHOUT, *commands], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[0, 0, 2, 2, 2]", done.stderr
    assert done.stderr.count("pip install 'onnx>=1.16'") == 3, done.stderr
    assert "Traceback" not in done.stderr


WITHOUT_METADATA = """
import importlib.metadata
version = importlib.metadata.version

def hidden(name):
    if name == "onnx":
        raise importlib.metadata.PackageNotFoundError(name)
    return version(name)

importlib.metadata.version = hidden
"""


@pytest.mark.parametrize("words", ["build", "run --via c", "run", "info --memory", "bench --no-interp", "viz"])
def test_a_package_that_was_never_installed_is_named(words: str, path: Path) -> None:
    """It has no metadata either, which the key of a build reads."""
    command = [sys.executable, "-c", WITHOUT_METADATA + WITHOUT, f"{words} {path}"]
    process = subprocess.run(command, capture_output=True, text=True)
    assert process.stdout.splitlines()[-1] == "[2]", process.stderr
    assert "the package onnx is missing" in process.stderr and "a bug in irtool" not in process.stderr


def test_names_of_outputs_that_are_no_list_are_no_names(path: Path) -> None:
    text = "def @main(%x: Tensor[(2), float32], output_tensor_names=5) { nn.relu(%x) }"
    Path("net.relay").write_text(f'#[version = "0.0.5"]\n{text}\n')
    assert irtool("run", "net.relay")[:2] == (0, "out0: float32[2]  0.879724 0.928186\n")
    assert "outputs:" not in irtool("info", "net.relay")[1]


@pytest.mark.parametrize("command", ["check", "run", "info", "import -o net.relay -q", "build --emit=c -o out -q"])
def test_commands_say_that_a_model_draws_random_numbers(command: str, path: Path) -> None:
    Path("random.onnx").write_text(TEXT.replace("Tanh", "RandomNormalLike"))
    name, *options = command.split()
    code, _, err = irtool(name, "random.onnx", *options, "--dim", "N=2")
    assert code == 0
    assert "warning[W1001]: 1 node draws random numbers, the same ones in every run: first" in err


def test_dimensions_without_bounds_have_the_memory_that_the_caller_gives(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["": 17]> net (float[batch, seq, 3] x) => (float[batch, seq, 3] y) { z = Exp(x) y = Softmax(z) }'
    (tmp_path / "net.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    code, _, messages = irtool(
        "build", tmp_path / "net.onnx", "--dim", "batch,seq", "--emit=c", "-o", tmp_path, "--name=net"
    )
    assert code == 0, messages
    assert "size_t net_arena_size(int64_t batch, int64_t seq);" in (tmp_path / "net.h").read_text()

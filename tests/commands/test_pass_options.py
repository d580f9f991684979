"""The options about passes mean the same in opt, build and run, and from Python."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import pytest

import irtool
from irtool.cli import run
from irtool.diagnostics import UsageError
from irtool.driver.stages import STAGES
from irtool.ops import operators
from irtool.passes import PassContext, passes
from irtool.passes.core.config_options import config_options
from irtool.passes.core.pipeline import parse_pipeline
from irtool.passes.core.pipelines import PIPELINES
from irtool.passes.instruments import instruments
from irtool.plugin import Registry

pytestmark = pytest.mark.promise("pipelines")

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 8), float32]) { %0 = exp(%x); %1 = add(%0, 1f); nn.relu(%1) }
"""
THREE = """#[version = "0.0.5"]
def @enc(%x: Tensor[(3), float32]) -> Tensor[(3), float32] { exp(%x) }
def @dec(%x: Tensor[(3), float32]) -> Tensor[(3), float32] { exp(%x) }
def @main(%x: Tensor[(3), float32]) -> Tensor[(3), float32] { @enc(@dec(exp(%x))) }
"""


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "three.relay").write_text(THREE)
    path = tmp_path / "net.relay"
    path.write_text(NET)
    return path


def command(*arguments: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(a) for a in arguments])
    assert "Traceback" not in err.getvalue()
    return code, out.getvalue(), err.getvalue()


def kernels(*options: str) -> list[str]:
    """The kernels of a build, as the command says them; the second time out of the cache."""
    listings = []
    for _ in range(2):
        code, out, err = command("build", "--emit=c", "-q", "--explain", "-o", "out", "net.relay", *options)
        assert code == 0, err
        heads = [line.removeprefix("# ") for line in out.splitlines()]
        listings.append([h.partition(":")[0].partition(" stage ")[0] for h in heads if not h.startswith(" ")])
        listings[-1] = list(dict.fromkeys(listings[-1]))
    assert listings[0] == listings[1]
    return listings[0]


def test_build_takes_passes_and_their_options(net: Path) -> None:
    fused = kernels()
    assert len(fused) == 1
    assert "fast_exp" not in fused[0]
    assert "fast_exp" in kernels("-p", "FastMath")[0]
    assert "fast_exp" in kernels("--require-pass=FastMath")[0]
    assert len(kernels("--disable-pass=FuseOps")) == 3
    assert len(kernels("--pass-config", "relay.FuseOps.max_depth=1")) == 3
    assert len(kernels("-p", 'func("^main$", FastMath)', "-p", "SimplifyExpr", "--disable-pass", "FuseOps")) == 3
    assert kernels() == fused  # every choice has a key of its own in the cache


def test_build_in_python_takes_the_same() -> None:
    def built(**options: object) -> list[str]:
        report = irtool.build(irtool.parse(NET), emit="c", **options).report  # type: ignore[arg-type]
        return [k["name"] for k in report["kernels"]]

    assert len(built(disabled_pass=["FuseOps"])) == 3
    assert len(built(config={"relay.FuseOps.max_depth": 1})) == 3
    assert "fast_exp" in built(passes=[irtool.passes.FastMath()])[0]
    assert "fast_exp" in built(passes="FastMath")[0]
    assert "fast_exp" in built(required_pass=["FastMath"])[0]
    for wrong in ({"disabled_pass": ["FuseOp"]}, {"required_pass": ["FuseOp"]}, {"passes": "FuseOp"}):
        with pytest.raises(UsageError, match="unknown pass FuseOp") as caught:
            built(**wrong)
        assert "did you mean FuseOps?" in caught.value.diagnostics[0].help


def test_passes_of_a_module_that_is_compiled_when_it_is_run() -> None:
    text = NET.replace("(2, 8)", "(?, 8)")
    x = __import__("numpy").ones((3, 8), "float32")
    artifact = irtool.build(irtool.parse(text), passes="FastMath", disabled_pass=["FuseOps"])
    want = irtool.evaluate(irtool.parse(text), [x])
    (got,) = artifact.run([x]) if isinstance(artifact.run([x]), list | tuple) else (artifact.run([x]),)
    __import__("numpy").testing.assert_allclose(got, want, rtol=1e-4)


def test_run_runs_what_the_passes_made(net: Path) -> None:
    code, out, err = command("run", "-p", "FirstOrderGradient", "net.relay")
    assert code == 0, err
    assert "out1: float32[2, 8]" in out  # the gradient is a second result
    code, out, err = command(
        "run", "-q", "--compare", "interp,c", "--disable-pass=FuseOps", "-p", "FastMath", "net.relay"
    )
    assert (code, out) == (0, "interp and c agree\n"), err


@pytest.mark.parametrize("name", ["opt", "build", "run"])
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--passes=FuseOp", "did you mean FuseOps?"),
        ("--disable-pass=FuseOp", "did you mean FuseOps?"),
        ("--require-pass=FuseOp", "did you mean FuseOps?"),
        ("--pass-config=relay.FuseOps.max_dept=1", "did you mean relay.FuseOps.max_depth?"),
        ("--pass-config=relay.FuseOps.max_depth", "is not KEY=VALUE"),
        ("--pass-config=relay.FuseOps.max_depth=deep", "expected an integer"),
        ("--instrument=Timin", "did you mean Timing?"),
        ("--instrument=Timing{stile=json}", "it has style"),
        ("--instrument=StopAfter", "needs the option limit"),
        ("--instrument=Printing{after=[FuseOp]}", "unknown pass FuseOp"),
        ("--load=nowhere.py", "no such file"),
    ],
)
def test_unknown_names_are_refused_everywhere(net: Path, name: str, option: str, message: str) -> None:
    code, out, err = command(name, option, "net.relay")
    assert (code, out) == (2, "")
    assert message in err
    assert sorted(p.name for p in net.parent.iterdir() if p.name != "cache") == ["net.relay", "three.relay"]


def test_names_are_refused_in_python_as_on_the_command_line() -> None:
    for names in (["FuseOp"], ["FuseOps", "Fuse"]):
        for option in ("required_pass", "disabled_pass"):
            with pytest.raises(UsageError, match="unknown pass"):
                PassContext(**{option: names})  # type: ignore[arg-type]
    # Names of `PassInfo`, of sequences, and of passes that only TVM has are known.
    PassContext(disabled_pass=["InlineGlobals", "PartialEval", "sequential", "tir.UnrollLoop", "FlattenNestedTuples"])
    named = irtool.passes.Sequential([], name="mine of today")
    PassContext(disabled_pass=[named.info.name])


def test_functions_and_pipelines_add_up(net: Path) -> None:
    words = ["opt", "--types=none", "three.relay", "-p", "FastMath", "-p", "SimplifyExpr,DeadCodeElimination"]
    code, out, err = command(*words, "--func", "enc", "--func", "^dec$")
    assert code == 0, err
    assert out.count("fast_exp") == 2
    assert "= exp(" in out
    code, _, err = command(*words, "--func", "enc", "--func", "nobody")
    assert code == 1
    assert "no function matches 'nobody'" in err
    code, out, _ = command(*words, "--func", "enc", "--func", "nobody", "--allow-no-match")
    assert (code, out.count("fast_exp")) == (0, 1)
    code, out, err = command("opt", "three.relay", "--time-passes=json", "-p", "FastMath", "-p", "SimplifyExpr")
    assert [r["pass"] for r in json.loads(err) if r["pass"] != "InferType"] == ["FastMath", "SimplifyExpr"]


def test_instruments_by_name_do_what_their_options_do(net: Path) -> None:
    code, one, printed = command("opt", "-p", "FastMath", "--instrument", "Printing{after=[FastMath]}", "net.relay")
    code, two, other = command("opt", "-p", "FastMath", "--print-after", "FastMath", "net.relay")
    assert (code, one, printed) == (0, two, other)
    assert "// after FastMath" in printed
    words = ["-p", "FuseOps,FastMath", "net.relay"]
    stopped = command("opt", "--instrument", "StopAfter{limit=1}", *words)
    assert stopped == command("opt", "--stop-after", "1", *words)
    assert "fast_exp" not in stopped[1]
    code, _, err = command("opt", "--instrument", 'Dump{folder="dumped"}', "--instrument", "Timing", *words)
    assert code == 0
    assert (net.parent / "dumped" / "00.input.relay").exists()
    assert "infer ms" in err
    code, _, err = command("build", "-q", "--emit=c", "-o", "o", "--instrument", "Timing{style=json}", "net.relay")
    assert any(r["pass"] == "FuseOps" for r in json.loads(err))


def test_every_option_of_the_context_is_listed() -> None:
    code, out, _ = command("passes", "--list-config")
    assert code == 0
    rows = {line.split()[0]: line for line in out.splitlines()}
    for key, option, readers in config_options():
        assert all(cls.name in rows[key] for cls in readers)
        assert option.kind_name in rows[key]
        assert option.meaning in rows[key]
    assert rows["relay.FuseOps.max_depth"].split()[1:4] == ["int", "256", "FuseOps"]
    assert command("passes", "--list-config", "FuseOps")[0] == 2


def test_what_a_build_leaves_out_is_said_and_can_be_asked_for(net: Path) -> None:
    code, out, _ = command("passes", "build")
    assert code == 0
    listed, _, left = out.partition("skip these")
    rows = [parse_pipeline(text)[0] for text, _ in PIPELINES["build"].rows]
    assert all(p.name in listed for p in rows)
    timings = command("build", "-q", "--emit=c", "-o", "o", "--instrument", "Timing{style=json}", "net.relay")[2]
    ran = {r["pass"] for r in json.loads(timings)}
    skipped = {p.name for p in rows if p.level <= 3 and p.info.name not in ran}
    left, _, stages = left.partition("\n\n")
    assert skipped == {line.split()[0] for line in left.splitlines()[1:]}
    assert [line.split()[0] for line in stages.splitlines()[1:]] == [s.name for s in STAGES]
    words = ["--require-pass", "AlterOpLayout", "--instrument", "Timing{style=json}"]
    assert '"AlterOpLayout"' in command("build", "-q", "--emit=c", "-o", "o", *words, "net.relay")[2]


@pytest.mark.parametrize("registry", [operators, passes, instruments], ids=lambda r: r.kind)
def test_every_name_is_found_where_it_is_looked_for_first(registry: Registry) -> None:
    # What comes from outside is compared with these modules only: a name elsewhere could be taken without a word.
    for name in registry.names():
        cls = registry.get(name)
        if registry.origin_of(cls) == "":
            assert cls.__module__ in set(registry._candidates(name)), name

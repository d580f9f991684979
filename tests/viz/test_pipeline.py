"""`irtool viz --pipeline`: a step for each pass, and marks on what it changed."""

from __future__ import annotations

import json
from pathlib import Path

import irtool
from irtool.viz.drawing import BLOCK
from irtool.viz.html import Step
from irtool.viz.pipeline import Recorder, draw_pipeline
from tests.command_line import irtool as command
from tests.viz.drawings import layers
from tests.viz.tags import tags_of
from tests.work import steps as steps_of

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32]) {
  %0 = nn.dropout(%x);
  %1 = exp(%0.0);
  tanh(%1)
}
"""


def steps(text: str, passes: str) -> list[Step]:
    recorder = Recorder()
    irtool.run_passes(irtool.parse(text), passes, instruments=[recorder])
    return draw_pipeline(recorder.modules, "net")


def marks(step: Step) -> dict[str, str]:
    assert step.drawing is not None
    return {n.label: n.mark for n in step.drawing.nodes() if n.mark}


def test_marks_tell_what_a_pass_changed() -> None:
    drawn = [s for s in steps(NET, "SimplifyInference,FoldConstant,FuseOps") if s.title != "InferType"]
    assert [s.title for s in drawn] == ["input", "SimplifyInference", "FoldConstant", "FuseOps"]
    before, simplified, folded, fused = drawn
    assert marks(before)["dropout"] == "gone" and "tanh" not in marks(before)
    assert marks(simplified) == {"exp": "new"}  # it reads something else, and so it does in the kernel
    assert folded.drawing is None and folded.remark == "changed nothing"
    assert marks(fused)["exp · tanh"] == "new" and "new" in fused.remark and "gone" in fused.remark


def test_what_is_new_may_be_gone_after_the_next_pass() -> None:
    _, simplified, fast = [s for s in steps(NET, "SimplifyInference,FastMath") if s.title != "InferType"]
    assert marks(simplified) == {"exp": "new gone", "tanh": "gone"}
    assert marks(fast) == {"fast_exp": "new", "fast_tanh": "new"}


def test_a_block_is_marked_where_something_in_it_is() -> None:
    drawn = [s for s in steps(layers(4).replace("tanh", "nn.relu"), "FastMath,SimplifyExpr,FuseOps") if s.drawing]
    assert all(n.mark for n in drawn[-1].drawing.nodes() if n.kind == BLOCK)  # type: ignore[union-attr]  # see above


def test_passes_that_change_nothing_cost_nothing() -> None:
    """Most of the passes of a build return the module that they were given."""
    module = irtool.parse(layers(20))
    recorded = [("input", module), ("FuseOps", irtool.run_passes(module, "FuseOps"))]
    idle = [(f"pass {i}", recorded[-1][1]) for i in range(50)]
    draw_pipeline(recorded, "net")  # what is read on first use
    plain = steps_of(lambda: draw_pipeline(recorded, "net"))
    assert steps_of(lambda: draw_pipeline(recorded + idle, "net")) < 1.1 * plain


def test_the_page_has_a_slider_with_a_name_for_each_pass(tmp_path: Path) -> None:
    path, out = tmp_path / "net.relay", tmp_path / "passes.html"
    path.write_text(NET, encoding="utf-8")
    code, printed, err = command("viz", path, "--pipeline", "-p", "SimplifyInference,FoldConstant", "-o", out)
    assert (code, printed, err) == (0, "", "")
    page = tags_of(out.read_text(encoding="utf-8"))
    data = json.loads(page.scripts[0])
    titles = [s["title"] for s in data["steps"] if s["title"] != "InferType"]
    assert titles == ["input", "SimplifyInference", "FoldConstant"]
    assert (
        data["steps"][-1]["view"] == len(data["views"]) - 1 and ("max", str(len(data["steps"]) - 1)) in page.attributes
    )
    assert command("viz", path, "--pipeline", "-p", "SimplifyInference,FoldConstant")[1] == out.read_text(
        encoding="utf-8"
    )


def test_without_passes_they_are_those_of_a_build(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text(NET, encoding="utf-8")
    code, page, _ = command("viz", path, "--pipeline")
    titles = [s["title"] for s in json.loads(tags_of(page).scripts[0])["steps"]]
    assert code == 0 and "FuseOps" in titles and "default" not in titles


def test_other_formats_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text(NET, encoding="utf-8")
    for words in (["--format=svg"], ["-o", tmp_path / "x.svg"]):
        code, out, err = command("viz", path, "--pipeline", *words)
        assert (code, out) == (2, "") and "error[E0016]: --pipeline makes an HTML page" in err
    assert not (tmp_path / "x.svg").exists()

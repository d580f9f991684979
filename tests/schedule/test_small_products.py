"""Products of many small matrices: vectors along their columns, not along the batch, where no operand would be read again."""

from __future__ import annotations

from pathlib import Path

import irtool

SOURCE = """#[version = "0.0.5"]
def @main(%a: Tensor[(128, 27, 64), float32]) {
  %0 = nn.relu(%a);
  %1 = transpose(%0, axes=[0, 2, 1]);
  nn.batch_matmul(%0, %1, transpose_b=False)
}
"""


def test_a_batch_of_products_is_not_in_blocks(tmp_path: Path) -> None:
    module = irtool.infer_types(irtool.parse(SOURCE))
    irtool.build(module, {}, mcpu="x86-64-v4", emit="c", name="net", out_dir=tmp_path)
    text = (tmp_path / "net.c").read_text(encoding="utf-8")
    assert "nn.batch_matmul(float32[128, 27, 64], float32[128, 64, 27]) -> float32[128, 27, 27]" in text
    product = text[text.index(" * nn.batch_matmul: register_tile") :]
    loop = product[product.index("for (int32_t k =") :]
    step = loop[: loop.index("\n      }")]
    updates, reads = step.count("acc_") // 2, step.count("*(const irt_f32x16_u *)")
    assert updates >= 8 and reads <= updates // 2

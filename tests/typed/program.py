"""A program against the public API."""

from __future__ import annotations

import numpy as np

import irtool
from irtool import relay
from irtool.ir import Call, Function, Op, TensorType, Tuple, Var, post_order
from irtool.passes import PassContext, PassInfo, PassInstrument, Sequential, passes

module = irtool.parse("def @main(%x: Tensor[(2), float32]) { exp(%x) }", filename="net.relay")
module = irtool.infer_types(module)
main = module["main"]
assert isinstance(main, Function)
result = main.checked_type
called = [e.op.name for e in post_order(main) if isinstance(e, Call) and isinstance(e.op, Op)]
data = Var("data", TensorType((2,), "float32"))
built = irtool.Module({"main": Function((data,), Tuple((relay.exp(data), relay.nn.relu(data) + relay.const(1.0))))})
assert not irtool.structural_equal(module, built)
number: int = irtool.structural_hash(module)


class Count(PassInstrument):
    """Counts passes."""

    def __init__(self) -> None:
        self.count = 0

    def run_before_pass(self, module: irtool.Module, info: PassInfo) -> None:
        self.count += 1


count = Count()
with PassContext(opt_level=3, disabled_pass=["FoldConstant"], instruments=[count]):
    module = irtool.run_passes(module, "SimplifyInference,FuseOps")
    module = Sequential([passes.get("FoldConstant").make({})])(module)
text: str = irtool.to_text(module, metadata=True)
try:
    irtool.parse("def @main(")
except irtool.IrError as error:
    lines = [f"{d.code}: {d.message}" for d in error.diagnostics]
artifact = irtool.build(module, target="c{math=strict}", opt_level=2)
outputs = artifact.run([np.ones(2, "float32")])
room: int = artifact.arena_bytes
again = irtool.load("out") if False else artifact
expected = irtool.evaluate(module, {"x": np.ones(2, "float32")})

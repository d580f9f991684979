"""Runs passes by hand, in a sequence, and within a context."""

import numpy as np

from irtool import relay
from irtool.relay import tvm

c_data = np.ones((1, 64, 54, 54)).astype("float32")
c = relay.const(c_data)
x = relay.var("x", relay.TensorType((1, 64, 56, 56), "float32"))
weight = relay.var("weight", shape=(64, 64, 3, 3))
conv = relay.nn.conv2d(x, weight)
y = relay.add(c, c)
y = relay.multiply(y, relay.const(2, "float32"))
y = relay.add(conv, y)
z = relay.add(y, c)
z1 = relay.add(y, c)
z2 = relay.add(z, z1)
f = relay.Function([x, weight], z2)

mod = tvm.IRModule.from_expr(f)
mod = relay.transform.FoldConstant()(mod)
print(mod)
mod = relay.transform.EliminateCommonSubexpr()(mod)
mod = relay.transform.FuseOps(fuse_opt_level=2)(mod)
assert len([e for e in [mod["main"].body] if isinstance(e, relay.Call)]) == 1

mod = tvm.IRModule.from_expr(f)
seq = tvm.transform.Sequential(
    [
        relay.transform.FoldConstant(),
        relay.transform.EliminateCommonSubexpr(),
        relay.transform.FuseOps(fuse_opt_level=2),
    ]
)
mod1 = seq(mod)
with tvm.transform.PassContext(opt_level=3):
    mod2 = seq(mod)
with tvm.transform.PassContext(opt_level=3, disabled_pass=["EliminateCommonSubexpr"]):
    mod3 = seq(mod)
assert not tvm.ir.structural_equal(mod2, mod3)


@relay.transform.function_pass(opt_level=1)
class CustomPipeline:
    """Multiplies constants."""

    def __init__(self, multiplier):
        self.multiplier = multiplier

    def transform_function(self, func, mod, ctx):
        obj = self

        class ReplaceConstant(relay.ExprMutator):
            def visit_constant(self, c):
                return relay.multiply(obj.multiplier, c)

        return ReplaceConstant().visit(func)


mod = tvm.IRModule.from_expr(f)
custom_pass = CustomPipeline(multiplier=relay.const(3, "float32"))
mod3 = custom_pass(mod)
assert "3f" in mod3.astext(show_meta_data=False)

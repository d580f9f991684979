"""Converts the layout of convolutions, and looks at the types."""

from irtool import relay
from irtool.relay import tvm

x = relay.var("x", shape=(1, 8, 9, 9))
w = relay.var("w", shape=(4, 8, 3, 3))
b = relay.var("b", shape=(4,))
y = relay.nn.relu(relay.nn.bias_add(relay.nn.conv2d(x, w, channels=4, kernel_size=(3, 3)), b))
mod = tvm.IRModule.from_expr(relay.Function([x, w, b], y))
desired_layouts = {"nn.conv2d": ["NHWC", "OHWI"]}
seq = tvm.transform.Sequential(
    [relay.transform.RemoveUnusedFunctions(), relay.transform.ConvertLayout(desired_layouts)]
)
with tvm.transform.PassContext(opt_level=3):
    mod = seq(mod)
layouts = []


def visit(e):
    if isinstance(e, relay.Call) and e.op.name == "nn.conv2d":
        layouts.append((e.attrs["data_layout"], e.attrs["kernel_layout"]))


relay.analysis.post_order_visit(mod["main"], visit)
assert layouts == [("NHWC", "OHWI")]
assert mod["main"].ret_type.shape == (1, 4, 7, 7)

"""Mixed precision and the gradient of a small function."""

import numpy as np

from irtool import relay
from irtool.relay import tvm
from irtool.relay.testing import run_infer_type, run_opt_pass

x = relay.var("x", shape=(3, 4))
w = relay.var("w", shape=(2, 4))
func = relay.Function([x, w], relay.sum(relay.nn.dense(x, w)))
func = run_infer_type(func)
back = run_opt_pass(func, relay.transform.FirstOrderGradient())
mod = tvm.IRModule.from_expr(back)
args = [np.ones((3, 4), "float32"), np.full((2, 4), 2, "float32")]
value, (dx, dw) = relay.create_executor("debug", mod, tvm.cpu(), "llvm").evaluate()(*args)
assert value.numpy() == 48
tvm.testing.assert_allclose(dx.numpy(), np.full((3, 4), 4.0))
tvm.testing.assert_allclose(dw.numpy(), np.full((2, 4), 3.0))
mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
mod = relay.transform.InferType()(mod)
half = relay.transform.ToMixedPrecision("float16")(mod)
assert half["main"].ret_type.dtype == "float16"

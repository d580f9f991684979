"""Saves weights, loads them, and binds them when the network runs."""

import numpy as np

from irtool import relay
from irtool.relay import tvm
from irtool.relay.tvm.contrib import graph_executor

x = relay.var("x", shape=(1, 10))
y = relay.var("y", shape=(1, 10))
z = relay.add(x, y)
func = relay.Function([x, y], z)
params = {"y": tvm.nd.array(np.ones((1, 10), dtype="float32"))}
param_bytes = relay.save_param_dict(params)
assert isinstance(param_bytes, (bytes, bytearray))
loaded_params = relay.load_param_dict(param_bytes)
np.testing.assert_allclose(
    loaded_params["y"], params["y"].numpy()
)  # TVM: np.testing.assert_allclose(loaded_params["y"].numpy(), params["y"].numpy())
lib = relay.build(tvm.IRModule.from_expr(func), "c", params=loaded_params)
m = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
m.set_input(**loaded_params)
m.set_input("x", np.full((1, 10), 2, "float32"))
m.run()
tvm.testing.assert_allclose(m.get_output(0, tvm.nd.empty((1, 10))).numpy(), np.full((1, 10), 3.0))
assert lib.get_graph_json().startswith("{")
assert isinstance(lib.get_params(), dict)

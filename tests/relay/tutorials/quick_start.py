"""Compiles a residual network and runs it."""

import numpy as np

from irtool import relay
from irtool.relay import testing, tvm
from irtool.relay.tvm.contrib import graph_executor

batch_size, num_class, image_shape = 1, 10, (3, 32, 32)
data_shape = (batch_size,) + image_shape
mod, params = testing.resnet.get_workload(
    num_layers=18, batch_size=batch_size, image_shape=image_shape, num_classes=num_class
)
print(mod.astext(show_meta_data=False))
opt_level = 3
target = tvm.target.Target("c")  # TVM: target = tvm.target.Target("llvm")
with tvm.transform.PassContext(opt_level=opt_level):
    lib = relay.build(mod, target, params=params)
dev = tvm.cpu()
data = np.random.uniform(-1, 1, size=data_shape).astype("float32")
module = graph_executor.GraphModule(lib["default"](dev))
module.set_input("data", data)
module.run()
out = module.get_output(0).numpy()
assert out.shape == (1, num_class)
want = relay.create_executor("debug", mod, dev, target, params).evaluate()(data).numpy()
tvm.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-5)

"""A program against the public API."""

from __future__ import annotations

import numpy as np

import irtool

module = irtool.parse("def @main(%x: Tensor[(2), float32]) { exp(%x) }")
module = irtool.run_passes(module, "SimplifyInference,FuseOps")
print(irtool.to_text(module))
outputs = irtool.build(module).run([np.ones(2, "float32")])

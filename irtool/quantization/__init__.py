"""Post-training quantization: `samples` are run (`running`), `histogram`s of the results are calibrated, layers are rounded.

The rewriting itself is a matter of passes: `InsertQDQ` and `FakeQuantizationToInteger`, or TVM's `QuantizeAnnotate`,
`QuantizeCalibrate` and `QuantizeRealize`.
"""

from __future__ import annotations

from ..namespace import submodules
from .options import QuantizeOptions as QuantizeOptions
from .quantizing import Quantized as Quantized
from .quantizing import quantize as quantize
from .weight_blocks import WeightOptions as WeightOptions
from .weight_blocks import quantize_weights as quantize_weights

__getattr__ = submodules(__name__)

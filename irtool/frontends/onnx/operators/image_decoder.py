"""Images in the formats of files."""

from __future__ import annotations

from ....diagnostics import IrError
from ..mistakes import UnsupportedNode
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..value import Value


@onnx_operator("ImageDecoder")
class ImageDecoder(OnnxOperator):
    """Refused: a decoder of JPEG, PNG and the like is no tensor function."""

    refusal = "decoding images has no form in Relay"

    @since(20)
    def decode(self, encoded_stream: Value, *, pixel_format: str = "RGB") -> Result:
        raise IrError(
            self.refusal,
            help="decode them before, and make the pixels the model's input",
            code=UnsupportedNode,
        )

"""Attributes that TVM holds as objects of their own, though they are plain numbers and strings here.

In a metadata section an attribute of C++ type `int`, `double`, `bool`, `std::string` or `DataType` is written in place, and
one of type `Integer`, `IndexExpr`, `Bool` or `String` as a node that is referred to by number. The values do not tell.
Lists, dictionaries and optional attributes are always nodes and are not listed.
"""

from __future__ import annotations

_TABLE = """
AdaptivePool1DAttrs out_layout
AdaptivePool2DAttrs out_layout
AdaptivePool3DAttrs out_layout
AvgPool1DAttrs out_layout
AvgPool2DAttrs layout out_layout
AvgPool3DAttrs out_layout
BinaryConv2DAttrs channels
BinaryDenseAttrs units
Conv1DAttrs channels data_layout kernel_layout out_layout
Conv1DTransposeAttrs channels
Conv2DAttrs channels data_layout kernel_layout out_layout
Conv2DTransposeAttrs channels
Conv2DWinogradAttrs channels data_layout kernel_layout out_layout
Conv3DAttrs channels data_layout kernel_layout out_layout
Conv3DTransposeAttrs channels data_layout kernel_layout out_layout
Conv3DWinogradAttrs channels
CorrelationAttrs layout
DFTAttrs inverse
DeformableConv2DAttrs channels
DenseAttrs units
DensePackAttrs units weight_layout
EinsumAttrs equation
EthosuBinaryElementwiseAttrs operator_type ifm_channels ifm2_channels activation rounding_mode ifm_layout ifm2_layout ofm_layout ofm_dtype
EthosuConv2DAttrs ofm_channels activation rounding_mode upscale ifm_layout ofm_layout
EthosuDepthwiseConv2DAttrs ofm_channels activation rounding_mode upscale ifm_layout ofm_layout ofm_dtype
EthosuIdentityAttrs activation rounding_mode
EthosuPoolingAttrs pooling_type ofm_channels ofm_dtype activation rounding_mode upscale ifm_layout ofm_layout
EthosuUnaryElementwiseAttrs operator_type ofm_channels activation rounding_mode ifm_layout ofm_layout
GatherAttrs axis
GatherNDAttrs batch_dims index_rank
GlobalPool2DAttrs layout out_layout
GridSampleAttrs method layout padding_mode
MatmulAttrs units
MaxPool1DAttrs out_layout
MaxPool2DAttrs layout out_layout
MaxPool3DAttrs out_layout
MultinomialAttrs num_samples
PadAttrs pad_mode
RepeatAttrs repeats axis
ReshapeLikeAttrs lhs_end rhs_end
ReverseAttrs axis
ReverseSequenceAttrs seq_axis batch_axis
ScanopAttrs axis exclusive
ScatterAddAttrs axis
ScatterAttrs axis
ScatterElementsAttrs axis reduction
ScatterNDAttrs mode
StackAttrs axis
StridedSliceAttrs slice_mode
TakeAttrs batch_dims axis mode
TopkAttrs k
UpSamplingAttrs layout method
YoloReorgAttrs stride
"""

BOXED: dict[str, frozenset[str]] = {
    "relay.attrs." + words[0]: frozenset(words[1:]) for words in (line.split() for line in _TABLE.split("\n") if line)
}
"""For each attribute class of TVM, its attributes that are numbers or strings held as objects."""

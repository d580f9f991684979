"""Decorators that file a pass's rule for an operator, used in the file that defines the operator.

Each takes the names of operators; the function below it is the rule, found by name when the pass meets a call::

    @gradient("my.swish")
    def swish_gradient(site): ...

==================  =====================================================================================================
`gradient`          `rule(site)`: the gradients with respect to the arguments (`gradients.rule.GradientSite`): Gradient and
                    FirstOrderGradient
`layout_rule`       `rule(site)`: layouts of inputs and outputs (`layouts.inference.LayoutSite`): ConvertLayout and AlterOpLayout;
                    most operators state a shared rule instead (`Operator.layout_rule`)
`conversion`        `rule(old, new, wanted)`: the call in the layouts that ConvertLayout is asked for
`alteration`        `rule(old, new, target)`: the call as kernels of a processor want it: AlterOpLayout
`integer_form`      `rule(call, types)`: the call on integers and how its result is quantized: FakeQuantizationToInteger
`legalization`      `rule(site)`, filed under a map, `FTVMLegalize` …: the replacement of a call: Legalize, qnn.Legalize,
                    qnn.CanonicalizeOps
`unpacked`          `rule(call, data_type)`: arithmetic in the place of a call: SimplifyInference
`decomposed`        the same for DecomposeOps
`makes_channels`    `rule(call)`: whether a layer is one whose weights PadChannels may fill up with zeros
`keeps_channels`    `rule(call, added)`: how large numbers in added channels may be behind a call: PadChannels
`absorbs_padding`   `rule(call, pad)`: the attributes with the padding in front added to them: FoldExplicitPadding
`asks_for`          `rule(call, message)`: the scales that a call could take from its arguments: ForwardFoldScaleAxis
`passes_on`         `rule(call, args, message)`: the call without the scales of its arguments: ForwardFoldScaleAxis
`offers`            `rule(call, offers)`: the scale that a call could take up from behind it: BackwardFoldScaleAxis
`takes_up`          `rule(run, call, message, scale)`: the call with the scale in it: BackwardFoldScaleAxis
==================  =====================================================================================================
"""

from .channel_padding.rule import keeps_channels, makes_channels
from .decompose_ops import decomposed
from .fake_quantization.affine import rule as integer_form
from .fold_explicit_padding import absorbs_padding
from .gradients.rule import gradient
from .layouts.alteration import alteration
from .layouts.desired import conversion
from .layouts.inference import layout_rule
from .legalization.rule import legalization
from .scale_axis.backward import offers, takes_up
from .scale_axis.forward import asks_for, passes_on
from .simplify_inference import unpacked

__all__ = [
    "absorbs_padding",
    "alteration",
    "asks_for",
    "conversion",
    "decomposed",
    "gradient",
    "integer_form",
    "keeps_channels",
    "layout_rule",
    "legalization",
    "makes_channels",
    "offers",
    "passes_on",
    "takes_up",
    "unpacked",
]

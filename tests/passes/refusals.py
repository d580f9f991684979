"""Texts that passes refuse: (pipeline, text, part of the message)."""

from __future__ import annotations

X = "%x: Tensor[(2, 3), float32]"
BOX = "type Box[A] { Box(A) }\n"


def main(body: str, params: str = X, head: str = "") -> str:
    return f'#[version = "0.0.5"]\n{head}def @main({params}) {{ {body} }}'


IMAGE = "%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]"
DYNAMIC = "%x: Tensor[(?, 3), float32]"
INT8 = "%x: Tensor[(1, 4, 8, 8), int8], %w: Tensor[(4, 4, 3, 3), int8]"
QCONV = 'qnn.conv2d(%x, %w, 0, 0, 1f, 1f, channels=4, kernel_size=[3, 3]{rest}, out_dtype="int32")'
HIGHER = "def @twice(%f: fn (float32) -> float32, %a: float32) -> float32 { %f(%f(%a)) }\n"

_COLUMN = "%x: Tensor[(2, 1), float32]"
_DENSE = "nn.dense(%x, reshape({}, newshape=[1, 1]), units=1)"
_ROUND = "relay.op.annotation.simulated_quantize(%x, 1f, -127f, 127f, kind={kind})"

CASES = [
    (
        'FoldConstant,ReducePrecision{dtype="float16"}',
        main('nn.dense(%x, full(100000f, shape=[64, 64], dtype="float32"), units=64)', "%x: Tensor[(64, 64), float32]"),
        "a weight of 100000 is beyond float16, which ends at 65504",
    ),
    (
        "PartialEvaluate",
        main("match? (Left(%x)) { Right(%y) => %y }", X, "type Two[A] { Left(A), Right(A) }\n"),
        "no clause",
    ),
    ("RemoveUnusedFunctions{entry_functions=[mian]}", main("%x"), "entry function @mian is not in the module"),
    ("Defunctionalization", '#[version = "0.0.5"]\ndef @other(%x: float32) { %x }', "starts from @main"),
    ("Defunctionalization", '#[version = "0.0.5"]\ndef @main[A](%x: A) -> A { %x }', "must not have type parameters"),
    ("Defunctionalization", main("%f(1f)", "%f: fn (float32) -> float32"), "%f of @main must not hold"),
    ("Defunctionalization", main("fn (%y: float32) { %y }", ""), "@main must not return"),
    (
        "Defunctionalization",
        main("@make(%x)(1f)", "%x: float32", "def @make(%x: float32) { fn (%y: float32) { add(%x, %y) } }\n"),
        "@make returns a function",
    ),
    (
        "Defunctionalization",
        main(
            "@call((fn (%y: float32) -> float32 { %y },))",
            "",
            "def @call(%t: (fn (float32) -> float32,)) -> float32 { %t.0(1f) }\n",
        ),
        "functions inside of other types",
    ),
    (
        "Defunctionalization",
        main(
            "@twice(if (%c) { @one } else { @one }, 1f)",
            "%c: bool",
            HIGHER + "def @one(%a: float32) -> float32 { %a }\n",
        ),
        "a function argument must be",
    ),
    ("FirstOrderGradient", '#[version = "0.0.5"]\ndef @main[A](%x: A) -> A { %x }', "polymorphic"),
    ("FirstOrderGradient", main("%x", "%x: fn (float32) -> float32"), "gradients are defined for tensors"),
    ("FirstOrderGradient", main("(%x, nn.relu(%x)).1", DYNAMIC), "static shape"),
    ("FirstOrderGradient", main('reinterpret(%x, dtype="float32")'), "no gradient"),
    ("Gradient", main("()", X), "without result"),
    ("Gradient", main("fn (%y: float32) { %y }", X), "gradients are defined for tensors"),
    ("Gradient", main('reinterpret(%x, dtype="float32")'), "no gradient"),
    ("Gradient", main("let %f = nn.relu; %f(%x)"), "must be called to have a gradient"),
    ("Gradient", main("let %f = tan; %x"), "tan must be called to have a gradient"),
    (
        "Gradient",
        main('nn.max_pool3d(%x, pool_size=[2, 2, 2], layout="NCDHW4c")', "%x: Tensor[(1, 2, 4, 8, 8, 4), float32]"),
        "layouts without blocks",
    ),
    (
        "Gradient",
        main(
            "sparse_to_dense(%i, %v, 0f, output_shape=[4])",
            "%i: Tensor[(3), int32], %v: Tensor[(1), float32]",
        ),
        "needs a value for each",
    ),
    ("Gradient", main("concatenate((%x, %x))", DYNAMIC), "static extents along its axis"),
    (
        "Gradient",
        main('nn.max_pool2d(%x, pool_size=[2, 2], out_layout="NHWC")', "%x: Tensor[(1, 1, 8, 8), float32]"),
        "results of the data's layout",
    ),
    (
        "Gradient",
        main('scatter_elements(%x, %i, %x, axis=0, reduction="mean")', X + ", %i: Tensor[(2, 3), int32]"),
        'for any reduction but "mean"',
    ),
    (
        "Gradient",
        main(
            "scatter_nd(%x, %i, %u)",
            X + ", %i: Tensor[(0, 2), int32], %u: Tensor[(2, 2, 3), float32]",
        ),
        "index tuples of at least one index",
    ),
    (
        "Gradient",
        main(
            "strided_set(%x, %x, %i, %j, %j)",
            X + ", %i: Tensor[(1), int32], %j: Tensor[(2), int32]",
        ),
        "begin, end and strides of one length",
    ),
    ("Gradient", main("dyn.tile(%x, %i, reps=[])", X + ", %i: Tensor[(2), int32]"), "is defined for a constant reps"),
    (
        "Gradient",
        main("slice_like(%y, %x, axes=None)", DYNAMIC + ", %y: Tensor[(8, 8), float32]"),
        "a result of static shape",
    ),
    ("Gradient", main("mean(%x)", DYNAMIC), "needs a static shape"),
    (
        'ConvertLayout{desired_layouts={"nn.conv2d_backward_weight": ["CHWN", "default"]}}',
        main(
            'nn.conv2d_backward_weight(%g, %x, kernel_size=[3, 3], padding=[1, 1, 1, 1], kernel_layout="NCHW", out_layout="OIHW")',
            "%g: Tensor[(1, 4, 8, 8), float32], %x: Tensor[(1, 4, 8, 8), float32]",
        ),
        "has no CHWN form",
    ),
    (
        'ConvertLayout{desired_layouts={"nn.conv2d": ["XYZW", "default"]}}',
        main("nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3])", IMAGE),
        "cannot turn the layout NCHW into 'XYZW'",
    ),
    (
        'ConvertLayout{desired_layouts={"nn.conv2d": ["CHWN", "default"]}}',
        main("nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3])", IMAGE),
        "no default kernel layout of nn.conv2d for CHWN data",
    ),
    ("ConvertCaches{dtype=int4}", main("%x", "%x: Tensor[(3), float32]"), "dtype of ConvertCaches is"),
    ("ConvertCaches{dtype=int8}", main("%x", "%x: Tensor[(3), float32]"), "there are no states"),
    (
        "ConvertCaches{dtype=int8}",
        main("(concatenate((%x, %x), axis=0),)", "%x: Tensor[(3), float32], state_outputs=[0]"),
        "%x cannot be in int8: its rows change along the last axis",
    ),
    ("ReadTokens", "def @other(%x: float32) { %x }", "no @main that reads tokens"),
    ("ReadTokens{tokens=x}", main("%x.0", "%x: (Tensor[(1, 3), int64],)"), "%x is no tensor"),
    ("ReadTokens{tokens=x}", main("%x", "%x: Tensor[(1, 3), float32]"), "%x is no row of tokens"),
    ("ReadTokens{tokens=x}", main("sum(%x, axis=[1])", "%x: Tensor[(1, 3), int64]"), "no row of scores for each token"),
    ('ChangeBatch{data={"x": 0} batch_size=3}', main("%x.0", "%x: (Tensor[(1, 3), float32],)"), "%x has no batch"),
    (
        "qnn.CanonicalizeOps",
        main("qnn.concatenate(%t, %s, %s, 1f, 0)", "%t: (Tensor[(2), int8],), %s: (float32,), %z: (int32,)").replace(
            "%s, %s, 1f", "%s, %z, 1f"
        ),
        "each scale and zero point of qnn.concatenate",
    ),
    (
        "FoldConstant,qnn.CanonicalizeOps",
        main(
            '%0 = full(0.5f, shape=[3], dtype="float32"); %1 = zeros(shape=[3], dtype="int32");'
            " qnn.mul(%x, %x, %0, %1, %0, %1, 1f, 0, lhs_axis=0, rhs_axis=1)",
            "%x: Tensor[(3, 3), int8]",
        ),
        "along the same axis",
    ),
    (
        "qnn.CanonicalizeOps",
        main("qnn.softmax(%x, 5f, 0, 0.01f, 0)", "%x: Tensor[(2, 3), int8]"),
        "scale",
    ),
    (
        "qnn.CanonicalizeOps",
        main(
            'qnn.batch_matmul(%x, %x, 0, 0, 1f, 1f, transpose_b=False, out_dtype="int32")',
            "%x: Tensor[(1, 3, 3), int8]",
        ),
        "transpose_b=True",
    ),
    (
        "qnn.CanonicalizeOps",
        main(QCONV.format(rest=', data_layout="NCHW", kernel_layout="IOHW"'), INT8),
        "not NCHW and IOHW",
    ),
    (
        "qnn.CanonicalizeOps",
        main(QCONV.format(rest="").replace(", kernel_size=[3, 3]", ""), INT8),
        "needs its kernel_size",
    ),
    (
        "qnn.CanonicalizeOps",
        main(
            QCONV.format(rest=', groups=4, kernel_layout="OHWI"').replace("0, 0,", "1, 1,"),
            "%x: Tensor[(1, 4, 8, 8), int8], %w: Tensor[(4, 3, 3, 1), int8]",
        ),
        "depthwise qnn.conv2d",
    ),
    (
        "qnn.CanonicalizeOps",
        main('qnn.requantize(%x, %s, 0, 1f, 0, out_dtype="int8")', "%x: Tensor[(2, 3), int32], %s: float32"),
        "must be a constant",
    ),
    (
        "qnn.CanonicalizeOps",
        main('qnn.requantize(%x, 0.5f, 0, %s, 0, out_dtype="int8")', "%x: Tensor[(2, 3), int32], %s: float32"),
        "must be a constant",
    ),
    (
        "qnn.CanonicalizeOps",
        main(
            'qnn.dense(%x, %w, 1, 1, 1f, 1f, units=2, out_dtype="int32")',
            "%x: Tensor[(2, ?), int8], %w: Tensor[(2, ?), int8]",
        ),
        "needs the extent of axis 1",
    ),
    (
        "qnn.CanonicalizeOps",
        main(
            'qnn.conv2d(%x, %w, 1, 1, 1f, 1f, channels=1, kernel_size=[1, 1], out_dtype="int32")',
            "%x: Tensor[(1, 2, 4, 4), int8], %w: Tensor[(1, ?, 1, 1), int8]",
        ),
        "needs a static shape",
    ),
    ("ToCPS", main("fn (%y: float32, Primitive=1) { nn.relu(%y) }(%x)", "%x: float32"), "primitive function"),
    (
        "ToCPS",
        main("@g", "", 'def @g(%a: float32, Compiler="npu") -> float32 { %0 = exp(%a); add(%0, %0) }\n'),
        "used as a value",
    ),
    (
        "ToMixedPrecision",
        main("@g(%x)", X, "def @g(%a: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { %a }\n"),
        "function literals only",
    ),
    (
        "ToMixedPrecision",
        main("add(%f(%x), %x)", X + ", %f: fn (Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32]"),
        "function literals only",
    ),
    ("ToMixedPrecision", main("ref_read(annotation.stop_fusion(ref(%x)))"), "tensors and tuples only"),
    ("ManifestLifetimes", main("%0 = let %y = nn.relu(%x); %y; add(%0, %0)"), "A-normal form"),
    ("ManifestLifetimes", main("if (%c) { %x } else { nn.relu(%x) }", X + ", %c: bool"), "A-normal form"),
    (
        "PartitionGraph",
        main(
            'annotation.compiler_end(nn.relu(annotation.compiler_begin(%x, compiler="a")), compiler="b")',
        ),
        "ends here as one of b",
    ),
    (
        "PartitionGraph",
        main('nn.relu(annotation.compiler_begin(%x, compiler="a"))'),
        "inside a region of a",
    ),
    (
        "MergeCompilerRegions",
        main(
            '%0 = annotation.compiler_begin(%x, compiler="a"); annotation.compiler_end(add(nn.relu(%0), %x), compiler="a")',
        ),
        "this belongs to no region",
    ),
    (
        'func("main", ToMixedPrecision)',
        main(
            "nn.dense(%x, %w, units=None)",
            X + ", %w: Tensor[(4, 3), float32]",
            "def @other(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) -> Tensor[(2, 4), float32] { @main(%x, %w) }\n",
        ),
        "differ: the data types are float32 and float16",
    ),
    ("EtaExpand", main("%x"), "nothing to expand"),
    ("Gradient", main("(%x, fn (%y: float32) { %y })"), "tuples of tensors, not fn"),
    (
        'func("main", Gradient)',
        main("@g(%x)", X, "def @g(%a: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { %a }\n"),
        "@g has no body to differentiate",
    ),
    (
        "Gradient",
        main(
            "@g(%x)",
            X,
            'def @g(%a: Tensor[(2, 3), float32], Compiler="npu") -> Tensor[(2, 3), float32] { reinterpret(%a, dtype="float32") }\n',
        ),
        "reinterpret has no gradient",
    ),
    ("ManifestLifetimes", main("nn.relu(if (%c) { %x } else { %x })", X + ", %c: bool"), "A-normal form"),
    (
        "PartitionGraph",
        main(
            '%0 = annotation.compiler_begin(%x, compiler="a"); %1 = annotation.compiler_begin(%x, compiler="b");'
            ' annotation.compiler_end(add(nn.relu(%0), nn.relu(%1)), compiler="a")',
        ),
        "of b",
    ),
    (
        "FakeQuantizationToInteger{hard_fail=True use_qat=True}",
        main(
            "nn.dense(cos(qnn.dequantize(%x, 0.5f, 1)), qnn.dequantize(%w, 0.25f, 0), units=3)",
            "%x: Tensor[(2, 4), int8], %w: Tensor[(3, 4), int8]",
        ),
        "an input is not dequantized",
    ),
    (
        "FakeQuantizationToInteger{hard_fail=True}",
        main(
            'qnn.quantize(topk(qnn.dequantize(%x, 0.5f, 1), k=1, ret_type="both", dtype="int32").0, 1f, 0, out_dtype="int8")',
            "%x: Tensor[(2, 4), int8]",
        ),
        "topk of indices",
    ),
    (
        'ConvertLayout{desired_layouts={"nn.max_pool2d": ["NCDHW"]}}',
        main("nn.max_pool2d(%x, pool_size=[2, 2])", "%x: Tensor[(1, 4, 8, 8), float32]"),
        "cannot turn the layout NCHW into 'NCDHW'",
    ),
    (
        'ConvertLayout{desired_layouts={"image.resize2d": ["NCDHW"]}}',
        main("image.resize2d(%x, size=[4, 4], roi=[0f, 0f, 0f, 0f])", "%x: Tensor[(1, 4, 8, 8), float32]"),
        "cannot be turned into",
    ),
    (
        "FoldConstant,InsertQDQ{ranges=[[-1,1]]}",
        main(_DENSE.format("divide(0f, 0f)"), _COLUMN),
        "weights of dense_0 have NaN",
    ),
    (
        "FoldConstant,InsertQDQ{ranges=[[-1,1]]}",
        main(f"nn.bias_add({_DENSE.format('1f')}, reshape(divide(0f, 0f), newshape=[1]))", _COLUMN),
        "bias of dense_0 has NaN",
    ),
    (
        "FoldConstant,InsertQDQ{ranges=[[-1,1]]}",
        main("nn.dense(%x, broadcast_to(1f, shape=[1, 70000]), units=1)", "%x: Tensor[(1, 70000), float32]"),
        "more than int32 has",
    ),
    (
        "InsertQDQ{ranges=[[-1,1],[-1,1]]}",
        main("nn.dense(%x, %y, units=1)", "%x: Tensor[(1, 70000), float32], %y: Tensor[(1, 70000), float32]"),
        "sums of 70000 products",
    ),
    (
        "QuantizeAnnotate{skip_dense_layer=False}",
        main(
            "nn.dense(%x, nn.dense(%x, %y, units=3), units=2)",
            "%x: Tensor[(2, 3), float32], %y: Tensor[(3, 3), float32]",
        ),
        "weights are quantized data",
    ),
    ("QuantizeCalibrate", main(_ROUND.format(kind=0)), "no bits for the kind 0"),
    (
        "QuantizeCalibrate{calibrate_mode=percentile scales=[1.0]}",
        main(f"add({_ROUND.format(kind=1)}, {_ROUND.format(kind=1)})"),
        "fewer scales",
    ),
    ("QuantizeCalibrate{calibrate_mode=percentile scales=[1.0, 2.0]}", main(_ROUND.format(kind=1)), "more scales"),
    (
        "FoldConstant,QuantizeCalibrate",
        main(_ROUND.format(kind=2).replace("%x, 1f", "reshape(divide(1f, 0f), newshape=[1]), %s"), "%s: float32"),
        "weights are not finite",
    ),
    (
        "QuantizeRealize",
        main(
            f"concatenate(({_ROUND.format(kind=1)}, {_ROUND.format(kind=1)}, {_ROUND.format(kind=1)}))".replace(
                "1f,", "1e-12f,"
            )
        ),
        "is less than that of the result",
    ),
]

UNREACHED = {
    "core/bind.py": "weights and cut-off metadata are refused before passes run: tests/commands",
    "core/constants.py": "guarded by those who call it",
    "dataflow/rewriting.py": "rules come from Python: test_dataflow_patterns.py",
    "de_duplicate.py": "a module built in Python may bind a variable twice, no text does",
    "defunctionalization.py: the type arguments": "inference finds them, or refuses",
    "defunctionalization.py: holds a function inside": "its argument is refused first",
    "core/externalize.py: are missing": "of `irtool convert`, not of a pass: tests/commands/test_convert.py",
    "gradient.py: tuples of tensors, not {t!r}": "operators with gradients take and give tensors and tuples of them",
    "instruments/dump.py": "a folder that cannot be written: tests/faults",
    "legalization/qnn_targets.py": "asked for some processors only: tests/golden/passes/qnn.Legalize",
    "legalization/rule.py: must be a tensor": "the type rule says so first",
    "manifest_alloc.py: not both": "compilers write it, nobody else",
    "partial/evaluator.py: is not bound": "inference says so first",
    "partition/pattern_file.py": "files of patterns: test_partitioning.py",
    "core/runner.py: has an unmet requirement": "only where a pass fails for that reason: tests/commands",
}
"""`FILE` or `FILE: PART OF THE LINES` of refusals that no pipeline reaches, and why."""

"""A pipeline for each pass with each of its options, and the passes that need or change something else."""

from __future__ import annotations

from irtool.passes import parse_pipeline, passes

TARGET = "llvm -mcpu=haswell"

OPTIONS = {
    "AnnotateTarget": ['{targets=["ccompiler"]}'],
    "Conv2dToSparse": [
        '{weight_name=["weight1", "weight2"] weight_shape=[[4, 1, 1, 4, 3], [4, 1, 1, 4, 3]] layout=NCHW kernel_size=3}'
    ],
    "Conv2dToSparse2": ["{layout=NHWC kernel_size=1 blocksize=[1, 1] sparsity_threshold=0.0}"],
    "ChangeBatch": ['{data={"x": 0} batch_size=3}'],
    "ConvertCaches": ["{dtype=bfloat16}", "{dtype=int8}"],
    "ConvertLayout": [
        '{desired_layouts={"nn.conv2d": ["NHWC", "default"]}}',
        '{desired_layouts={"nn.conv2d": ["NHWC", "OHWI"], "nn.max_pool2d": ["NHWC"]}}',
    ],
    "DeadCodeElimination": ["", "{inline_once=True}"],
    "DenseToSparse": [
        '{weight_name=["weight1", "weight2"] weight_shape=[[4, 1, 1, 4, 3], [4, 1, 1, 4, 3]]}',
        '{weight_name=["nobody"] weight_shape=[[4, 1, 1, 4, 3]]}',
    ],
    "EtaExpand": ["{expand_global_var=True}", "{expand_constructor=True}"],
    "FakeQuantizationToInteger": ["", "{use_qat=True}"],
    "FoldConstant": ["", "{fold_qnn=True}"],
    "FuseOps": ["", "{fuse_opt_level=0}", "{fuse_opt_level=1}", "{fuse_opt_level=3}"],
    "InlineCompilerFunctionsBoundTo": ["{global_vars=[tvmgen_default_dnnl_main_0]}", "{global_vars=[]}"],
    "Legalize": ["", "{legalize_map_attr_name=FTVMQnnCanonicalize}"],
    "MergeComposite": ["{pattern_table=dnnl}", "{pattern_table=bnns}"],
    "SimplifyFCTranspose": ['{target_weight_name=["weight1", "weight2"]}'],
    "SplitArgs": ["{max_function_args=2}"],
    "recast": [
        "{dtype=float16 out_dtype=float32}",
        '{dtype=int8 out_dtype=int32 ops=["nn.conv2d", "nn.dense"] skip_layers=[0]}',
    ],
}
"""Options to run a pass with; every other pass runs with its defaults, and those that have none must be in here."""

ROUGH = {
    "InsertQDQ": "values are rounded, to ranges that must be given",
    "ReducePrecision": "operands are rounded to 16 bits, and quantized networks turn over",
    "ToMixedPrecision": "results may be of another type",
    "recast": "values are cast as they are",
}
"""Approximations that are further away than TOLERANCES; they are tested by themselves."""

TOLERANCES = {"FastMath": (2e-2, 2e-2)}
"""Relative and absolute, where it is not (1e-4, 1e-4): the approximations are good to about 1 %, and errors add up."""

PREPARED = {
    "InlineCompilerFunctionsBoundTo": "AnnotateTarget{targets=dnnl},MergeCompilerRegions,PartitionGraph,",
    "ManifestAlloc": "ToANormalForm,",
    "ManifestLifetimes": "ToANormalForm,",
    "PartialEvaluate": "ToANormalForm,",
    "UnCPS": "ToANormalForm,ToCPS,",
}
"""What must run first: passes that walk trees take no shared nodes, and to undo something takes that it was done."""

MEANS_SOMETHING_ELSE = {
    p.name for p in passes if p.changes not in ("", "approximation")
} - PREPARED.keys() | ROUGH.keys()
"""Passes whose results are not those of the program before, as they declare; they are tested by themselves. What undoes such a
pass, behind it, gives the results of the program before.
"""

REFUSES = {
    "ConvertCaches": "most programs have no states",
    "Defunctionalization": "functions bound by let",
    "InlineCompilerFunctionsBoundTo": "functions that there are not: some programs have nothing for the target",
    "LowerTE": "control flow in primitive functions",
    "LowerTensorExpr": "control flow in primitive functions",
    "QuantizePartition": "products of which only the second factor is a convolution's result",
    "ReadTokens": "no parameter of some programs is a row of tokens",
    "UnCPS": "primitive functions do not become continuation-passing",
}
"""Passes that may refuse a program (with a message that says why)."""


def pipelines(names: list[str]) -> list[str]:
    """Each pass with each of its options. What they make of a pass that needs others is a test that fails."""
    return [PREPARED.get(name, "") + name + options for name in names for options in OPTIONS.get(name, [""])]


def last(pipeline: str) -> str:
    """The name of the pass that a pipeline is about."""
    return parse_pipeline(pipeline)[-1].name


ALL = sorted(p.name for p in passes if not p.name.startswith("Test"))

PIPELINES = [*pipelines([n for n in ALL if n not in MEANS_SOMETHING_ELSE]), "default<O2>", "default<O3>", "default<O4>"]

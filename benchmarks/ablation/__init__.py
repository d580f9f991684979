"""The worth of each stage of the schedule and each strategy: networks without it, beside networks with all of them.

    python -m benchmarks.ablation                             all networks and single operators in float32; results are kept in build/ablation
    python -m benchmarks.ablation --precision int8,bfloat16   other precisions, of the networks of the side-by-side
    python -m benchmarks.ablation --only unet --switch FuseKernels,winograd
    python -m benchmarks.ablation --write                     docs/ablation.md, from the results that are kept

networks   the networks beside those of the side-by-side, each with the package that it comes from
export     a process that writes the ONNX file of one of them
build      builds of a network, each without one stage or strategy
worker     a process that makes them and has them timed
turns      a process that times two of them, which take turns
record     results, a file for each network and precision
reasons    the reasons for which some stay that move no network
lines      how many lines of code a stage or a strategy has for itself
page       the results as a page
"""

"""The quality of choices by cost: the candidates of many kernels measured, as `irtool tune` does, beside the one that was chosen.

`python -m benchmarks.cost FILE…` takes modules and ONNX models. Of each stage, at most `--offers` candidates are compiled: the chosen one and
the first ones of every strategy in turn; they run in turns, and the shortest time of each counts. Equal stages of several networks
are measured once. All measurements are kept in a table, and an interrupted run goes on. `--write` makes `docs/cost.md` of it.

    worker  measures one network, in a process of its own
    table   right and wrong choices of a table
    page    the page of documentation
"""

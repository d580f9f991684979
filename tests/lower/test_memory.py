"""Offsets in the arena: no two live intervals overlap, and little is wasted."""

from hypothesis import given, settings
from hypothesis import strategies as st

from irtool.lower.memory import plan_memory
from irtool.lower.naming import kernel_name
from irtool.lower.placing import Interval, place
from irtool.tir.expr import Expr, Load, Var, post_order
from irtool.tir.kernel import Kernel
from irtool.tir.program import PARAM, RESULT, HostFunction, Program, RunKernel, Slot
from irtool.tir.stmt import Allocate, Buffer, For, PrimFunc, Scope, Seq, Stmt, Store, seq

intervals = st.lists(
    st.tuples(st.integers(1, 20), st.integers(0, 15), st.integers(0, 6)).map(
        lambda t: Interval(t[0] * 64, t[1], t[1] + t[2])
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(intervals)
def test_live_intervals_do_not_overlap(items: list[Interval]) -> None:
    total, lower = place(items)
    assert lower <= total <= sum(i.size for i in items)
    for n, a in enumerate(items):
        assert a.offset >= 0 and a.offset + a.size <= total
        for b in items[:n]:
            apart = a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
            assert apart or a.last < b.first or b.last < a.first


def test_a_chain_needs_two_places() -> None:
    total, lower = place([Interval(64, n, n + 1) for n in range(50)])
    assert total == lower == 128


def test_many_intervals_are_placed_quickly() -> None:
    total, _ = place([Interval(64, n, n + 1) for n in range(20_000)])
    assert total == 128


def test_kernel_names() -> None:
    assert kernel_name(["nn.dense", "add", "nn.relu"]) == "tvmgen_default_fused_nn_dense_add_nn_relu"
    long = kernel_name(["nn.conv2d"] * 20)
    assert long != kernel_name(["nn.conv2d"] * 21), "names that are cut stay different"
    assert len(long) < 130
    operators = ["nn.conv2d", "expand_dims", "multiply", "negative", "multiply", "add", "expand_dims", "add", "nn.relu"]
    assert kernel_name(operators).endswith("_add_nn_re_e0c4d8ff40082f0e_"), "TVM's hash"


def test_very_many_intervals_do_not_overlap_either() -> None:
    items = [Interval(64 * (1 + n * 7 % 5), n // 2, n // 2 + n * 11 % 6) for n in range(2000)]
    total, lower = place(items)
    assert lower <= total <= 3 * lower
    for n, a in enumerate(items):
        for b in items[max(0, n - 40) : n]:
            apart = a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
            assert apart or a.last < b.first or b.last < a.first


SIZES = [16, 16, 40, 64, 200]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A straight line of kernels, each of up to three stages over scratch memory; some kernels are called twice."""
    x = Slot("x", (16,), "float32", PARAM)
    slots = [x]
    body: list[RunKernel] = []
    kernels: list[Kernel] = []
    for n in range(draw(st.integers(1, 9))):
        inputs = draw(st.lists(st.sampled_from(slots), min_size=1, max_size=3))
        again = [k for k in kernels if [b.size for b in k.inputs] == [s.size for s in inputs]]
        if again and draw(st.booleans()):
            kernel = again[0]
        else:
            kernel = _kernel(n, inputs, [draw(st.sampled_from(SIZES)) for _ in range(draw(st.integers(0, 2)))], draw)
            kernels.append(kernel)
        temporary = Slot(f"t{n}", kernel.outputs[0].shape, "float32")
        body.append(RunKernel(kernel, inputs, [temporary]))
        slots.append(temporary)
    result = Slot("out", slots[-1].shape, "float32", RESULT)
    body[-1].outputs[0].forward = result
    main = HostFunction("main", [x], [result], list(body))
    return Program({"main": main}, kernels, [], "main")


def _kernel(n: int, inputs: list[Slot], scratch: list[int], draw: st.DrawFn) -> Kernel:
    """Every stage fills one buffer from some of the inputs and the scratch memory before it; the last fills the result."""
    params = [Buffer(f"p{i}", s.shape, "float32", Scope.PARAM) for i, s in enumerate(inputs)]
    size = draw(st.sampled_from([inputs[0].size, *SIZES]))
    out = Buffer("out", (size,), "float32", Scope.PARAM)
    temporaries = [Buffer(f"s{i}", (size,), "float32") for i, size in enumerate(scratch)]
    stages: list[Stmt] = []
    known = list(params)
    for target in [*temporaries, out]:
        read = draw(st.lists(st.sampled_from(known), max_size=2)) or [known[-1]]
        value: Expr = read[0][0]
        for b in read[1:]:
            value = value + b[0]
        i = Var("i")
        if len(read) == 1 and read[0].size == target.size:
            value = read[0][i]  # element by element: may be done in place
        stages.append(For(i, target.size, Store(target, [i], value)))
        known.append(target)
    whole = seq(stages)
    for b in temporaries:
        whole = Allocate(b, whole)
    return Kernel.of(PrimFunc(f"k{n}", [*params, out], whole))


@settings(max_examples=300, deadline=None)
@given(programs())
def test_a_run_reads_what_was_written(program: Program) -> None:
    """Runs the program on the planned arena, stage by stage; every read finds what was last put into its buffer."""
    plan_memory(program)
    main = program.functions["main"]
    assert main.live_bytes <= main.frame_bytes
    arena: dict[int, object] = {}

    def blocks(offset: int, size: int) -> range:
        assert offset % 64 == 0 and offset + size <= main.frame_bytes
        return range(offset, offset + size, 64)

    def read(where: range | None, owner: object) -> None:
        assert where is None or all(arena.get(b) is owner for b in where)

    for step in main.body:
        kernel = step.kernel
        of: dict[Buffer, tuple[object, range | None]] = {}
        for b, s in zip(kernel.params, [*step.inputs, *step.outputs]):
            slot = s.resolve()
            assert slot.kind != "temp" or slot.offset is not None
            of[b] = (slot, blocks(slot.offset, slot.nbytes) if slot.kind == "temp" else None)  # type: ignore[arg-type]
        for b, offset in kernel.placement.offsets.items():
            of[b] = (b, blocks(step.workspace + offset, b.nbytes))
        s = kernel.body
        while isinstance(s, Allocate):
            s = s.body
        for loop in s.stmts if isinstance(s, Seq) else (s,):
            store = loop.body
            for e in post_order(store.value):
                if isinstance(e, Load):
                    read(of[e.source][1], of[e.source][0])
            owner, where = of[store.buffer]
            for block in where or ():
                arena[block] = owner
        read(of[kernel.outputs[0]][1], of[kernel.outputs[0]][0])


def test_a_result_lies_where_an_input_was_copied_from() -> None:
    """A kernel that first copies its input to scratch memory: the result takes the input's place."""
    p, out, copy = (
        Buffer(n, (64,), "float32", s) for n, s in (("p", Scope.PARAM), ("out", Scope.PARAM), ("copy", Scope.GLOBAL))
    )
    i, j = Var("i"), Var("j")
    first = For(i, 64, Store(copy, [i], p[i]))
    second = For(j, 64, Store(out, [j], copy[63 - j]))
    reverse = Kernel.of(PrimFunc("reverse", [p, out], Allocate(copy, seq([first, second]))))
    x, a, b = Slot("x", (64,), "float32", PARAM), Slot("a", (64,), "float32"), Slot("b", (64,), "float32")
    y = Slot("y", (64,), "float32", RESULT)
    body = [RunKernel(reverse, [x], [a]), RunKernel(reverse, [a], [b]), RunKernel(reverse, [b], [y])]
    program = Program({"main": HostFunction("main", [x], [y], list(body))}, [reverse], [], "main")
    plan_memory(program)
    assert program.arena_bytes == program.functions["main"].live_bytes == 512
    assert a.offset == b.offset and reverse.placement is not None and reverse.placement.overlapping == [(0, 0)]

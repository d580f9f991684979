"""Every command with every option: lines that a small folder of files makes work, and what each must do."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from irtool.benchmark.record import Record, Times

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 8), float32], %w: Tensor[(4, 8), float32]) {
  %0 = nn.dense(%x, %w, units=4);
  nn.relu(%0)
}
"""
OPEN = """#[version = "0.0.5"]
def @f(%x, %y: Tensor[(?, 3), float32], %w: Tensor[(3, 3), float32]) {
  add(nn.dense(%x, %w, units=3), %y)
}
"""
ANY = '#[version = "0.0.5"]\ndef @main(%y: Tensor[(?, 3), float32]) { exp(%y) }\n'
LET = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {\n  let %a = exp(%x);\n  add(%a, meta[relay.Constant][0] /* ty=Tensor[(2), float32] */)\n}\n'
CACHE = """<ir_version: 11, opset_import: ["" : 24]>
step (float[2, 1, 3] new, int64[2] at, float[2, 3, 3] past) => (float[2, 3, 3] y, float[2, 3, 3] present) {
  present = TensorScatter<axis = 1>(past, new, at)
  y = Exp(present)
}
"""
STATE = """#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %h: Tensor[(3), float32]) { %0 = add(%x, %h); (tanh(%0), %0) }
"""
OTHER = NET.replace("nn.relu", "tanh")
UGLY = NET.replace("  %0", "%0")
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
net (float[n, 3] x, int64[1] k) => (float[n, 3] y) <float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
  a = MatMul(x, w)
  f = Cast<to = 1>(k)
  y = Mul(a, f)
}
"""
OWN = '''from dataclasses import dataclass

from irtool.passes.core.base import FunctionPass, register_pass


@register_pass("{name}")
@dataclass(frozen=True)
class Kept(FunctionPass):
    """Changes nothing."""

    def transform(self, function, module, context):
        return function
'''
FAILS = OWN.replace("return function", 'raise ValueError("not this one")')
BOARD = """about = "A board whose compiler is this machine's"
family = "cortex-m"
processor = "none"
fpu = "double"
prefix = "{prefix}"
flags = []
link = ["-static"]
flash = {{ address = 0x08000000, size = "1M" }}
ram = {{ address = 0x20000000, size = "64K" }}
"""
DROPS = '''from dataclasses import dataclass

from irtool.ir import Call, rewrite
from irtool.ops.base import op
from irtool.passes.core.base import FunctionPass, register_pass


@register_pass("DropsRelu")
@dataclass(frozen=True)
class DropsRelu(FunctionPass):
    """Forgets a relu."""

    def transform(self, function, module, context):
        def leave(old, new):
            return new.args[0] if isinstance(new, Call) and new.op is op("nn.relu") else new

        return rewrite(function, leave)
'''


def write_files(folder: Path) -> None:
    """The files that the lines name."""
    texts = {
        "net": NET,
        "open": OPEN,
        "let": LET,
        "state": STATE,
        "other": OTHER,
        "ugly": UGLY,
        "any": ANY,
        "bad": NET.replace("%w)", "%v)").replace("units=4", "units=5"),
    }
    texts["cases"] = f"{NET}// -----\n{NET.replace('nn.relu(%0)', 'relu(%0)  // ERROR: E0104')}// -----\n{NET}"
    texts["off"] = UGLY + "// irtool fmt: off\n"
    for name, text in texts.items():
        (folder / f"{name}.relay").write_text(text)
    for board, prefix in (("host", ""), ("absent", "absent-")):
        (folder / f"{board}.toml").write_text(BOARD.format(prefix=prefix))
    (folder / "model.onnxtxt").write_text(MODEL)
    (folder / "cache.onnxtxt").write_text(CACHE)
    (folder / "own.py").write_text(OWN.format(name="Kept"))
    (folder / "drops.py").write_text(DROPS)
    (folder / "apart").mkdir()
    (folder / "apart" / "fails.py").write_text(FAILS.format(name="Fails"))
    (folder / "schedule.txt").write_text("tvmgen_default_fused_nn_dense_nn_relu:\n  unroll(ax1)\n")
    g = np.random.RandomState(0)
    x, w = g.rand(2, 8).astype("float32"), g.rand(4, 8).astype("float32")
    np.savez(folder / "w.npz", w=w)
    np.savez(folder / "x.npz", x=x)
    np.savez(folder / "w8.npz", w=np.ones((4, 8), "int8"))
    np.save(folder / "x.npy", x)
    np.save(folder / "x3.npy", x[:, :3])
    np.savez(folder / "want.npz", out0=np.maximum(x @ w.T, 0))
    np.savez(folder / "open.npz", x=np.ones((2, 3), "float32"), y=np.ones((2, 3), "float32"))
    np.savez(folder / "v.npz", w=np.eye(3, dtype="float32"))
    (folder / "net.log").write_text(
        "irtool-profile\t1\tnet\nhz\t1\nlost\t0\nkernel\t0\tf\texp\t1\tnet.relay:3:2\t\nevent\t0\t1\t8\nend\n"
    )
    (folder / "names.txt").write_text("zero\none\ntwo\nthree\n")
    slow = Record("net.relay", "another", {}, Times([9.0, 9.0]))
    (folder / "slow.json").write_text(slow.to_json())
    (folder / "golden").mkdir()
    (folder / "golden" / "net.relay").write_text(NET + "// RUN: irtool opt -p FuseOps --types=none %s\n")
    try:
        from PIL import Image
    except ImportError:
        return
    Image.fromarray(g.randint(0, 256, (6, 8, 3), dtype="uint8")).save(folder / "cat.png")
    (folder / "image.relay").write_text(
        '#[version = "0.0.5"]\ndef @main(%d: Tensor[(4, 4, 3), float32]) { mean(%d, axis=[0, 1]) }\n'
    )


FAILING = {
    "backends nowhere": 2, "bench nowhere": 1, "boards nowhere": 2, "build nowhere": 1, "cache nowhere": 2, "check nowhere": 1, "completion tcsh": 2, "convert nowhere -o x.npz": 1,
    "diff nowhere nowhere": 2, "doctor nowhere": 2, "evaluate nowhere --inputs x.npz --labels x.npy": 1, "explain E9999": 2, "export nowhere -o x.onnx": 1, "fmt nowhere": 1, "help nowhere": 2,
    "import nowhere -o x.relay": 1, "info nowhere": 1, "lsp nowhere": 2, "new pass nowhere": 2, "ops nowhere": 2, "opt nowhere": 1, "passes nowhere": 2, "profile nowhere": 1,
    "quantize nowhere --calibrate random -o x.relay": 1, "reduce nowhere --expect-crash": 1, "run nowhere": 1, "test nowhere": 1,
    "train-step nowhere --loss mse -o x.relay": 1, "tune nowhere -o t.json": 1,
    "viz nowhere": 1,
}  # fmt: skip
"""A line of every command that fails, and its exit code."""

LINES: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    # the line, its exit code, and what it does: `out:TEXT` and `err:TEXT` are printed, `not out:TEXT` is not, `FILE:TEXT` is written
    ("--version", 0, ("out:irtool ",)),
    ("--cmake-dir", 0, ("out:templates",)),
    ("--debug check nowhere.relay", 1, ("err:cannot read nowhere.relay",)),
    ("--max-size 10 check net.relay", 1, ("err:more than 10 bytes",)),
    ("--color always check nowhere.relay", 1, ("err:\x1b[31m",)),
    ("backends c --load own.py", 0, ("out:testbench",)),
    ("backends wasm --processors", 0, ("out:wasm-relaxed-simd",)),
    ("boards", 0, ("out:mps3-an547",)),
    ("boards mps2-an386", 0, ("out:gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm",)),
    ("boards mps2-an38", 2, ("err:did you mean mps2-an385 or mps2-an386?",)),
    ("build net.relay --params w.npz --board host.toml -o board --name b1 --ram-limit 32K --flash-limit 1M -v", 0,
     ("board/Makefile:b1.elf", "board/board.ld:LENGTH = 65536", "board/b1_test.c:main", "out:bytes of RAM, of 32768")),
    ("build net.relay --board host.toml -o board --name b2 --ram-limit 16", 1, ("err:bytes of RAM, ", "err:more than the 16 that --ram-limit allows")),
    ("build net.relay --board host.toml -o board --flash-limit many", 2, ("err:flash_limit='many' is no number of bytes",)),
    ("build net.relay --profile certifiable --emit c -o safe --name net -q", 0, ("safe/net.ffx:maxcount", "safe/net_trace.json:model_sha256", "safe/net.c:loop bound")),
    ("build net.relay --emit zephyr -o zlib --name net -q", 0, ("zlib/zephyr/module.yml:name: net", "zlib/src/net.c:net_run", "zlib/samples/net/src/main.c:net_run")),
    ("build net.relay --emit arduino --weights file -o alib", 2, ("err:emit=arduino is for devices without a file system",)),
    ("build net.relay --profile certifiable --openmp -o safe", 2, ("err:profile=certifiable has no place for openmp",)),
    ("build net.relay --board host.toml --emit so -o board", 2, ("err:emit=so is for an operating system",)),
    ("info net.relay --params w.npz --memory --board host.toml", 0, ("out:RAM of host: ", "out:constants  ")),
    ("info net.relay --board host.toml", 2, ("err:--board goes with --memory",)),
    ("run net.relay --compare interp,c --board absent.toml --time-limit 5", 4, ("err:the board absent needs absent-gcc",)),
    ("run net.relay --via c --time-limit 5", 2, ("err:--time-limit is for programs",)),
    ("bench net.relay --board absent.toml --time-limit 5", 4, ("err:the board absent needs absent-gcc",)),
    ("bench net.relay --time-limit 5", 2, ("err:--time-limit goes with --board",)),
    ("bench net.relay --board host.toml --rounds 2", 2, ("err:--rounds is about times, and --board counts instructions",)),
    ("bench net.relay --params w.npz --time 0.001 --rounds 2 --no-interp --json record.json --seed 3 -O 2 --entry main "
     "--input x=x.npy -v", 0, ("out:kernel", 'record.json:"net.relay"', "err:wrote record.json")),
    ("bench net.relay --params w.npz --time 0.001 --rounds 1 --kernels --interp --trace trace.json --compare slow.json --cflags -g "
     "--math strict --mcpu native --openmp", 0, ("out:interpreter", "out:faster", "trace.json:traceEvents")),
    ("bench net.relay --time 0.001 --rounds 1 --no-interp --no-kernels --target c --cc cc --no-openmp -q --missing-constants zeros",
     0, ("not out:kernel",)),
    ("bench open.relay --entry f --shape x=2,3 --dtype x=float32 --inputs open.npz --time 0.001 --rounds 1 --no-interp --no-kernels "
     "--runner env", 0, ("out:compiled",)),
    ("bench cache.onnxtxt --state auto --cache-dtype int8 --time 0.001 --rounds 1 --no-interp --no-kernels", 0, ("out:compiled",)),
    ("bench state.relay --state h=out1 --time 0.001 --rounds 1 --no-interp --no-kernels", 0, ("out:compiled",)),
    ("bench net.relay --precision int8 --calibrate x.npz --params w.npz --time 0.001 --rounds 1 --no-interp --no-kernels", 0,
     ("out:compiled",)),
    ("bench model.onnxtxt --dim n=2 --value k=1, --prelude --time 0.001 --rounds 1 --no-interp --no-kernels", 0, ("out:compiled",)),
    ("tune net.relay --params w.npz -o tuned.json --trials 1 --time 1s --each 0.001 --jobs 1 --runner env --target c -O 3 --entry main --cc cc "
     "--cflags -g --math fast --opt balanced --mcpu native --no-openmp -v", 0, ("tuned.json:", "out:wrote tuned.json", "err:read net.relay")),
    ("build net.relay --target c --params w.npz -o out --name n1 --emit c -O 1 -p FuseOps --disable-pass FoldConstant --require-pass "
     "FastMath --pass-config relay.FuseOps.max_depth=8 --instrument Timing{style=json} --load own.py --entry main --input x -v",
     0, ("out:wrote out/n1.c", "out/n1.h:n1_run", "err:FuseOps")),
    ("build net.relay -o out --name n2 --emit exe --bindings hpp,f90,rs --weights inline --verify-weights --mcpu none --cc cc --cflags -g --sanitize undefined "
     "--build-file make --vector none --math strict --no-openmp --testbench --region-size 4096 --no-cache", 0, ("out/n2_test.c:main", "out/n2.mk:n2")),
    ("build net.relay --params w.npz -o out --name n3 --emit c --weights file --no-verify-weights --no-vector --openmp --api tvm "
     "--no-cache --report out/n3.json --graph out/n3.graph.json", 0, ("out/n3.json:kernels", "out/n3.graph.json:nodes")),
    ("build net.relay --params w.npz -o out --name pools --emit c --no-cache --workspace-pools sram,dram --workspace-pools-size-hint-bytes "
     "sram:4000 --constant-pools flash --constant-pools-size-hint-bytes flash:9000 -v", 0, ("out:workspace pool sram: 0 bytes (of 4000)",)),
    ("build net.relay -o out --name n16 --emit wheel", 0, ("out:wrote out/n16-0.0.0-py3-none-",)),
    ("build net.relay -o out --name n17 --emit c --api tvm-ffi", 0, ("out/n17_tvm_ffi.c:__tvm_ffi_n17_run",)),
    ("build net.relay -o out --name n18 --emit c -MD -MF n18.d", 0, ("n18.d:out/n18.c out/n18.h",)),
    ("build net.relay -o out --name n19 --emit c --hooks", 0, ("out/n19.c:N19_PROFILE",)),
    ("build net.relay -o out --name n20 --emit c --no-hooks", 0, ("out/n20.c:n20_run",)),
    ("build net.relay -o out --name n21 --emit c --line-directives --no-cache", 0, ('out/n21.c:#line 3 "net.relay"',)),
    ("build net.relay -o n22.s --emit asm --no-line-directives --time-trace trace.json -q", 0, ("n22.s:n22_run", "trace.json:FuseOps")),
    ("build net.relay --params w.npz -o out --name n23 --emit c --explain --only-kernel softmax --no-cache", 0, ("out:# no kernel's name has a match of 'softmax'",)),
    ("run net.relay --params w.npz --compare interp,c --per-layer", 0, ("out:layers agree",)),
    ("build net.relay -o out --name n24 --emit c --build-file meson -q", 0, ("out/meson.build:n24_dep",)),
    ("profile net.log --by line -o shares.txt", 0, ("shares.txt:net.relay:3",)),
    ("profile net.log --format perfetto -v", 0, ("out:traceEvents", "err:read net.log")),
    ("profile net.log --json -q", 0, ('out:"counts": 7',)),
    ("build net.relay -o out --name n15 --emit c --dump-dir steps", 0, ("steps/000-input.relay:nn.dense", "out/n15.c:n15_run")),
    ("build net.relay -o out --name n4 --emit c --explain --no-cache", 0, ("out:vectorize(",)),
    ("build net.relay -Werror=W0101 -o out --name n14 --emit c --opt size --explain --no-cache", 0, ("out:# opt=size: no weights are transformed",)),
    ("build net.relay -o out --name n15 --opt sizes", 2, ("err:--opt takes size, balanced or speed, not 'sizes'", "err:did you mean size?")),
    ("bench net.relay --load own.py -Werror=W0101 --opt speed --time 0.001 --rounds 1 --no-interp --no-kernels", 0, ("out:compiled",)),
    ("run net.relay -Werror=W0101 --via c --opt size", 0, ("out:[",)),
    ("run net.relay --opt size", 2, ("err:--opt is for compiled C",)),
    ("build net.relay -o out --name n5 --emit tir --print-before FuseOps --print-after FuseOps --print-changed --time-passes --cache -q",
     0, ("err:FuseOps", "out/n5.tir:")),
    ("build net.relay --params w.npz -o out --name n11 --emit isel --kernel . --no-cache -q", 0, ("out/n11.isel:kernel(",)),
    ("build net.relay -o out --name n6 --emit c --schedule schedule.txt --tuned tuned.json --no-cache", 0, ("out:wrote out/n6.c",)),
    ("build open.relay --entry f --shape x=2,3 --shape y=2,3 --dtype x=float32 -o out --name n7 --emit c", 0, ("out/n7.h:n7_run",)),
    ("build open.relay --entry f --inputs open.npz --shape y=2,3 -o out --name n8 --emit c --missing-constants error", 0,
     ("out/n8.h:n8_run",)),
    ("build open.relay --entry f --shape x=n<=8:2,3 --shape y=n,3 -o out --name n12 --emit c", 0, ("out/n12.h:N12_N_STEP 2",)),
    ("build net.relay --params w.npz --precision int8 --calibrate x.npz -o out --name n9 --emit c", 0, ("out/n9.c:int8",)),
    ("build model.onnxtxt --dim n=2 --value k=1, --prelude -o out --name n10 --emit c", 0, ("out/n10.h:n10_run",)),
    ("build state.relay --state h=out1 -o out --name n12 --emit c", 0, ("out/n12.h:int n12_step(struct n12_net *net",)),
    ("build cache.onnxtxt --state auto -o out --name n13 --emit c", 0, ("out/n13.h:float past[18]",)),
    ("build cache.onnxtxt --state auto --cache-dtype bfloat16 -o out --name n14 --emit c", 0, ("out/n14.h:uint16_t past[18]", "out:caches in bfloat16: error")),
    ("cache", 0, ("out:irtool/builds",)),
    ("cache list --older-than 30 --json", 0, ('out:"builds"',)),
    ("cache clear --older-than 30", 0, ("out:removed",)),
    ("check net.relay --syntax -q", 0, ("not out:no errors",)),
    ("check net.relay --round-trip --basic-block-normal-form --target c --load own.py -v", 0, ("out:no errors", "err:read net.relay")),
    ("check open.relay --partial --shape x=2,3 --dtype x=float32 --entry f", 0, ("out:shape_num_unknown_nodes=",)),
    ("check open.relay --inputs open.npz --shape y=2,3 --entry f --target c", 0, ("out:no errors",)),
    ("check bad.relay --format sarif", 1, ("out:ruleId",)),
    ("check bad.relay --format github", 1, ("out:::error file=bad.relay,line=3",)),
    ("check net.relay --params w.npz --input x=x.npy --json", 0, ("out:[]",)),
    ("check model.onnxtxt --dim n=2 --value k=1, --prelude", 0, ("out:no errors",)),
    ("completion bash", 0, ("out:complete",)),
    ("convert w.npz -o w.params --load own.py -v", 0, ("out:wrote w.params", "w.params:", "err:read w.npz")),
    ("convert w.npz -o some.npz --only w", 0, ("out:1 tensor", "some.npz:")),
    ("convert w.npz -o some.npz --only nothing", 1, ("err:no tensor has a name that matches nothing",)),
    ("convert net.relay w.npz -o with.relay --entry main -q", 0, ("with.relay:meta[relay.Constant]", "not out:wrote")),
    ("convert with.relay -o bare.relay --params-out bare.npz", 0, ("bare.relay:def @main", "bare.npz:")),
    ("diff net.relay other.relay --types all --infer --load own.py -v", 1, ("out:tanh", "err:read other.relay")),
    ("diff net.relay other.relay --no-infer -q", 1, ("not out:tanh",)),
    ("diff net.relay net.relay --values --params w.npz --shape x=2,8 --dtype x=float32 --inputs x.npz --prelude", 0, ("out:equal",)),
    ("diff model.onnxtxt model.onnxtxt --values --dim n=2 --value k=1,", 0, ("out:equal",)),
    ("diff net.relay -Werror=W0101 net.relay --values", 0, ("out:equal",)),
    ("doctor --format text", 0, ("out:irtool",)),
    ("doctor --json", 0, ('out:"part"',)),
    ("explain E0104 --load own.py", 0, ("out:E0104",)),
    ("export net.relay --to onnx -o net.onnx --opset 18 --external-data --quantized qdq --params w.npz --load own.py", 0, ("net.onnx:",)),
    ("export open.relay --to relax -o net.py --shape x=2,3 --shape y=2,3 --dtype x=float32 --entry f -q", 0,
     ("net.py:def f", "not out:wrote")),
    ("export open.relay -Werror=W0101 -o open.onnx --inputs open.npz --shape y=2,3 --entry f -v", 0, ("open.onnx:", "err:wrote open.onnx")),
    ("export model.onnxtxt -o model.py --dim n=2 --value k=1, --prelude", 0, ("model.py:def main",)),
    ("fmt --check --diff ugly.relay", 1, ("out:-%0", "err:would change ugly.relay")),
    ("fmt off.relay -v", 0, ("err:kept off.relay",)),
    ("fmt ugly.relay --load own.py", 0, ("out:formatted ugly.relay", "ugly.relay:  %0")),
    ("fmt net.relay -q", 0, ("not out:unchanged",)),
    ("help build", 0, ("out:--emit",)),
    ("import model.onnxtxt -o model.relay --params-format npz --params-out model.npz --shape x=2,3 --types calls --spans", 0,
     ("model.relay:span=", "model.npz:")),
    ("import model.onnxtxt -Werror=W0101 --dim n=2", 0, ("out:def @main", "err:1 weight is not printed")),
    ("import model.onnxtxt -o m2.relay --dim n=2 --value k=1, --prelude -q", 0, ("m2.relay:def @main", "not out:wrote")),
    ("import model.onnxtxt -o m3.relay --dim n=2 -v", 0, ("err:wrote m3.relay",)),
    ("info --nodes model.onnxtxt", 0, ("out:2  f = Cast<to=1>(k)",)),
    ("info --nodes net.relay", 2, ("err:--nodes lists the nodes of models",)),
    ("info --nodes --memory model.onnxtxt", 2, ("err:--nodes prints the nodes",)),
    ("info net.relay --params w.npz --dtype x=float32 --inputs x.npz", 0, ("out:nn.dense",)),
    ("info net.relay --storage --format text --load own.py", 0, ("out:storage",)),
    ("info net.relay -Werror=W0101 --cost --memory --target c", 0, ("out:arena",)),
    ("info any.relay --json --shape y=2,3 -v", 0, ('out:"main"', "err:read any.relay")),
    ("info model.onnxtxt --dim n=2 --value k=1, --prelude -q", 0, ("out:nn.dense",)),
    ("lsp --load nowhere.py", 2, ("err:nowhere.py",)),
    ("new pass MyPass -o made", 0, ("out:made", "made/pyproject.toml:irtool.plugins")),
    ("ops nn.relu --check --load own.py", 0, ("out:cases",)),
    ("ops 'nn.*'", 0, ("out:nn.relu", "not out:broadcast_to")),
    ("ops conv", 0, ("out:nn.conv2d", "not out:nn.relu")),
    ("ops --since 0.12", 0, ("not out:nn.relu",)),
    ("opt net.relay -p FuseOps --disable-pass FoldConstant --require-pass FastMath --pass-config relay.FuseOps.max_depth=8 --instrument "
     "Timing{style=json} --load own.py --opt-level 1 --target llvm -o opt.relay -v", 0,
     ("opt.relay:Primitive=1", "err:wrote opt.relay")),
    ("opt net.relay -O 3 --time-passes --print-before FuseOps --print-after FuseOps --print-changed --verify-each --dump-dir dumped", 0,
     ("err:FuseOps", "dumped/00.input.relay:def @main", "out:Primitive=1")),
    ("opt net.relay --passes FuseOps,FoldConstant --func none --allow-no-match --no-verify-each", 0, ("not out:Primitive",)),
    ("opt net.relay --passes FuseOps,DefuseOps --stop-after 1", 0, ("out:Primitive=1",)),
    ("opt net.relay -p FuseOps --check-values 2 --types none --spans --portable-names", 0, ("out:span=", "err:2 of 2 parameters")),
    ("opt with.relay --constants elide", 0, ("out:meta[relay.Constant]", "not out:b64ndarrays")),
    ("opt net.relay --load apart/fails.py -p Fails --reproducer kept.relay", 1, ("err:not this one", "kept.relay:// RUN: irtool opt", "fails.py:not this one")),
    ("opt net.relay --load drops.py -p DropsRelu --bisect --inputs x.npz --params w.npz", 1, ("out:DropsRelu changes the results",)),
    ("opt open.relay --shape x=2,3 --dtype x=float32 --entry f", 0, ("out:Tensor[(2, 3), float32]",)),
    ("opt net.relay --input x=x.npy --params w8.npz", 0, ("out:def @main", "err:note: %w is float32")),
    ("opt cases.relay --split-input-file --verify-diagnostics -W error --types=none", 0, ("out:// -----", "not err:error")),
    ("check cases.relay --split-input-file --verify-diagnostics -Wno-W0101", 0, ("out:no errors",)),
    ("opt net.relay --params w8.npz -q", 0, ("out:def @main", "err:note: %w is float32")),
    ("opt model.onnxtxt --dim n=2 --value k=1, --prelude", 0, ("out:Tensor[(2, 3), float32]",)),
    ("passes FuseOps --load own.py", 0, ("out:fuse_opt_level",)),
    ("passes 'Fuse*'", 0, ("out:FuseOps", "not out:FoldConstant")),
    ("passes --tir", 0, ("out:tir",)),
    ("passes --list-config", 0, ("out:relay.FuseOps.max_depth",)),
    ("passes --missing", 0, ("out:LowerThreadAllreduce",)),
    ("passes --list-instruments", 0, ("out:Timing",)),
    ("evaluate net.relay --params w.npz --inputs x.npz --labels want.npz --against float --precision int8 --calibrate x.npz --entry main -O 2 "
     "--via interp --load own.py -p Kept --disable-pass FoldConstant --require-pass FastMath --pass-config relay.FuseOps.max_depth=8 "
     "--instrument Timing{style=json} --missing-constants zeros", 0, ("out:out0: mean absolute error", "err:also calibrates")),
    ("evaluate net.relay -Werror=W0101 --params w.npz --input x=x.npy --against want.npz --json -q", 0, ('out:"snr": null',)),
    ("evaluate open.relay -v --entry f --inputs open.npz --shape x=2,3 --shape y=2,3 --dtype x=float32 --params v.npz --prelude --against float", 0,
     ("out:out0: equal",)),
    ("evaluate model.onnxtxt --dim n=2 --value k=1, --input x=x3.npy --against float", 0, ("out:out0 (y): equal",)),
    ("evaluate net.relay --params w.npz --inputs x.npz", 2, ("err:give --labels, --against, or both",)),
    ("quantize net.relay --params w.npz -o q1.relay --params-format npz --params-out q1.npz --calibrate x.npz --mode affine --method percentile "
     "--percentile 99 --activations int8 --keep none --min-snr 1 --form integer --report --report-samples 1 --via interp --types none -v", 0,
     ("q1.relay:qnn.dense", "q1.npz:", "err:wrote q1.relay")),
    ("quantize net.relay --params w.npz --calibrate random -o q2.relay --mode tvm --qconfig skip_dense_layer=False --samples 1 --seed 1 --no-report -q", 0,
     ("q2.relay:int8", "not out:q2")),
    ("quantize open.relay --entry f --shape x=2,3 --shape y=2,3 --dtype x=float32 --params v.npz --calibrate random -o q3.relay --json --samples 1", 0, ("q3.relay:add",)),
    ("quantize net.relay --load own.py -Werror=W0101 --params w.npz --weights int8 --block 16 -o q6.relay", 0, ("q6.relay:dequantize_blocks",)),
    ("quantize net.relay --params w.npz --weights int4 --activations int8 -o q7.relay", 0, ("q7.relay:qnn.dense_blocks",)),
    ("quantize open.relay --entry f --inputs open.npz --shape y=2,3 --params v.npz --calibrate random -o q4.relay --samples 1", 0, ("q4.relay:add",)),
    ("quantize model.onnxtxt --dim n=2 --value k=1, --prelude --calibrate random -o q5.relay --samples 1", 0, ("q5.relay:def @main",)),
    ("train-step net.relay --params w.npz -o t1.relay --params-format npz --params-out t1.npz --loss cross_entropy --class-axis 1 --optimizer momentum "
     "--learning-rate 0.1 --momentum 0.5 --weight-decay 0.1 --statistics-momentum 0.2 --seed 1 --output out0 --entry main --types none", 0,
     ("t1.relay:nn.log_softmax", "t1.npz:", "out:trained")),
    ("train-step net.relay --load own.py -Werror=W0101 --params w.npz -o t2.relay --loss mse --optimizer adam --betas 0.8 0.9 --epsilon 1e-6 --learning-rate input --train-only .* --json --ram-limit 64M", 0,
     ("t2.relay:%learning_rate", 'out:"trained"')),
    ("train-step open.relay --entry f --shape x=2,3 --shape y=2,3 --dtype x=float32 --params v.npz --loss mse -o t3.relay -q", 0, ("t3.relay:state_outputs", "not out:t3")),
    ("train-step open.relay --entry f --inputs open.npz --shape y=2,3 --params v.npz --loss mse -o t4.relay -v --color never", 0, ("t4.relay:state_outputs",)),
    ("train-step model.onnxtxt --dim n=2 --value k=1, --prelude --loss mse -o t5.relay", 0, ("t5.relay:state_outputs",)),
    ("reduce net.relay -p DropsRelu --load drops.py --expect-diff --seed 1 --rtol 0.01 --atol 0.01 --entry main --via interp -o small.relay -v",
     0, ("small.relay:nn.relu", "err:calls: 1 operator")),
    ("reduce net.relay -p FuseOps --disable-pass FastMath --require-pass FoldConstant --pass-config relay.FuseOps.max_depth=8 --instrument "
     "Timing{style=json} --opt-level 1 -O 0 --target llvm --expect-text nn.dense --timeout 9 -q", 0, ("out:nn.dense",)),
    ("reduce net.relay --expect-crash -p FuseOps", 1, ("err:",)),
    ("reduce open.relay -Werror=W0101 -p FuseOps --entry f --expect-text add --shape x=2,3 --dtype x=float32 --inputs open.npz --params v.npz --prelude -q",
     0, ("out:add",)),
    ("reduce model.onnxtxt --dim n=2 --value k=1, -p FuseOps --expect-text nn.dense -q", 0, ("out:nn.dense",)),
    ("run state.relay --state h=out1 --steps 3 --compare interp,c -o steps.npz", 0, ("out:float32[3, 3]", "out:interp and c agree")),
    ("run net.relay --via interp --entry main --inputs x.npz --params w.npz --expect want.npz --rtol 0.001 --atol 0.001 --ulp 4 --top 2 "
     "--labels names.txt --dump-values values --repeat 2 -o out.npz -v", 0,
     ("out:agree with want.npz", "out:row 1:", "values/0000.nn.dense.npy:", "out.npz:")),
    ("run cache.onnxtxt --state auto --cache-dtype int8 --steps 3 --compare interp,c", 0, ("out:caches in int8: error", "out:interp and c agree")),
    ("run state.relay --state h=out1 --cache-dtype int8", 1, ("err:no state is a cache",)),
    ("run state.relay --state h=out1 --steps 3 --compare interp,c --save-states state.npz", 0, ("out:interp and c agree", "state.npz:h")),
    ("run net.relay --save-states state.npz", 2, ("err:--save-states is for networks with states",)),
    ("run state.relay --state h=out1 --save-states state.txt", 2, ("err:--save-states writes an .npz file",)),
    ("run net.relay --by-name -o out.npz", 2, ("err:the outputs have no names of their own",)),
    ("run net.relay --compare interp,c --tolerance 0.1 -O 2 --cc cc --mcpu native --cflags -g --sanitize undefined --runner env --seed 1 -q "
     "--missing-constants zeros", 0, ("out:interp and c agree",)),
    ("run net.relay -p FuseOps --disable-pass FastMath --require-pass FoldConstant --pass-config relay.FuseOps.max_depth=8 --instrument "
     "Timing{style=json} --load own.py --random", 0, ("out:out0: float32[2, 4]", "err:2 of 2 parameters are random")),
    ("run net.relay --params w.npz --input x=x.npy -o one.npy", 0, ("one.npy:NUMPY",)),
    ("run net.relay --params w.npz --input x=x.npy --via c --cache", 0, ("out:float32[2, 4]",)),
    ("run net.relay --params w.npz --input x=x.npy --via c --no-cache", 0, ("out:float32[2, 4]",)),
    ("run net.relay --no-random --input x=x.npy", 1, ("err:no value for the parameter %w",)),
    ("run net.relay --precision int8 --calibrate x.npz --params w.npz", 0, ("out:error against",)),
    ("run open.relay --entry f --shape x=2,3 --shape y=2,3 --dtype x=float32", 0, ("out:float32[2, 3]",)),
    ("run model.onnxtxt --dim n=2 --value k=1, --prelude", 0, ("out:float32[2, 3]",)),
    ("run image.relay --input d=cat.png --mean 0.5 --std 0.5,0.5,0.5 --scale 255 --layout HWC --channels BGR --resize 4 --crop 4", 0,
     ("err:cut to 4x4", "out:float32[3]")),
    ("test golden --update --load own.py", 0, ("out:1 updated", "golden/net.relay.expected:Primitive=1")),
    ("test golden -v -k net --junit junit.xml", 0, ("out:ok   golden/net.relay", "junit.xml:testsuite")),
    ("test golden --list", 0, ("out:golden/net.relay",)),
    ("test golden -q", 0, ("not out:passed",)),
    ("test golden -j 2", 0, ("out:1 passed",)),
    ("test --features", 0, ("out:feature",)),
    ("tune open.relay --entry f --shape x=2,3 --shape y=2,3 --dtype x=float32 -o t2.json --trials 1 --each 0.001 -q --missing-constants zeros "
     "--openmp", 0, ("t2.json:", "not out:wrote")),
    ("tune open.relay --entry f --inputs open.npz --shape y=2,3 --params v.npz --precision int8 --calibrate open.npz -o t3.json --trials 1 --each 0.001", 0,
     ("t3.json:",)),
    ("tune model.onnxtxt -Werror=W0101 --dim n=2 --value k=1, --prelude -o t4.json --trials 1 --each 0.001", 0, ("t4.json:",)),
    ("tune net.relay -o t5.json --scheduler tcp://127.0.0.1:1", 2, ("err:distributed",)),
    ("viz net.relay --format svg -o net.svg --fold -p FuseOps --disable-pass FastMath --require-pass FoldConstant --pass-config "
     "relay.FuseOps.max_depth=8 --instrument Timing{style=json} --load own.py -v", 0, ("net.svg:<svg", "err:wrote net.svg")),
    ("viz net.relay -Werror=W0101 --pipeline -o passes.html -p FuseOps", 0, ("passes.html:FuseOps",)),
    ("viz net.relay --schedule --kernel dense --target c -o loops.html --params w.npz", 0, ("loops.html:<html",)),
    ("viz open.relay --entry f --shape x=2,3 --dtype x=float32 --no-fold -q", 0, ("out:add",)),
    ("viz open.relay --entry f --inputs open.npz", 0, ("out:add",)),
    ("viz model.onnxtxt --dim n=2 --value k=1, --prelude", 0, ("out:dense",)),
    *((f"{line} --color always", code, ("err:\x1b[31m",)) for line, code in FAILING.items()),
)  # fmt: skip

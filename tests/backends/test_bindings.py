"""Wrappers for C++, Fortran and Rust: programs in each language give what the interpreter gives, and refuse tensors of other sizes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError

V = '#[version = "0.0.5"]\n'
DENSE = f"{V}def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) {{ nn.dense(%x, %w, units=4) }}"
OPEN = f"{V}def @main(%x: Tensor[(?, 2), float32], %in: Tensor[(?, 2), float32]) {{ concatenate((%x, exp(%in))) }}"
STATE = f"{V}def @main(%x: Tensor[(3), float32], %h: Tensor[(3), float32]) {{ %0 = add(%x, %h); (tanh(%0), %0) }}"
BYTES = f"""{V}def @main(%type: Tensor[(2), uint8], %b: Tensor[(2), bool]) {{
  (add(%type, cast(1, dtype="uint8")), logical_not(%b))
}}"""
WEIGHTS = np.arange(12, dtype="float32").reshape(4, 3)

CPP = {
    DENSE: """
  net_cpp::load_weights("net.bin");
  net_cpp::Network net;
  std::vector<float> x{1, 2, 3, 4, 5, 6};
  std::array<float, 8> out;
  net.run(x, out);
  for (float v : out) std::printf("%g ", v);
  try { net.run(net_cpp::Span<const float>(x.data(), 5), out); } catch (const std::invalid_argument &e) { std::puts(e.what()); }
""",
    OPEN: """
  net_cpp::Network net;
  const std::vector<float> x{1, 2}, y{0, 0, 0, 0};
  std::vector<float> out(6);
  net.run(1, 2, x, y, out);
  for (float v : out) std::printf("%g ", v);
  try { net.run(9, 2, std::vector<float>(18), y, std::vector<float>(22)); } catch (const net_cpp::Error &e) { std::printf("%d %s\\n", e.code, e.what()); }
""",
    STATE: """
  net_cpp::Network net, other;
  const std::vector<float> x{1, 1, 1};
  std::vector<float> out(3);
  net.run(x, out);
  std::vector<unsigned char> saved = net.save();
  net.run(x, out);
  std::printf("%.4f ", out[0]);
  other.restore(saved);
  other.run(x, out);
  std::printf("%.4f ", out[0]);
  other.reset();
  other.run(x, out);
  std::printf("%.4f ", out[0]);
  saved[0] ^= 1;
  try { other.restore(saved); } catch (const net_cpp::Error &e) { std::printf("%d\\n", e.code); }
""",
}
RUST = {
    DENSE: """
    net::load_weights(c"net.bin").unwrap();
    let mut net = net::Network::new();
    let x = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut out = [0f32; 8];
    net.run(&x, &mut out).unwrap();
    for v in out { print!("{v} "); }
    println!("{}", net.run(&x[1..], &mut out).unwrap_err());
""",
    OPEN: """
    let mut net = net::Network::new();
    let mut out = [0f32; 6];
    net.run(1, 2, &[1.0, 2.0], &[0.0; 4], &mut out).unwrap();
    for v in out { print!("{v} "); }
    let error = net.run(9, 2, &[0.0; 18], &[0.0; 4], &mut [0.0; 22]).unwrap_err();
    println!("4 {error}");
    assert_eq!(error, net::Error::Code(4));
""",
    STATE: """
    let (mut net, mut other) = (net::Network::new(), net::Network::default());
    let mut out = [0f32; 3];
    net.run(&[1.0; 3], &mut out).unwrap();
    let mut saved = net.save();
    net.run(&[1.0; 3], &mut out).unwrap();
    print!("{:.4} ", out[0]);
    other.restore(&saved).unwrap();
    other.run(&[1.0; 3], &mut out).unwrap();
    print!("{:.4} ", out[0]);
    other.reset();
    other.run(&[1.0; 3], &mut out).unwrap();
    print!("{:.4} ", out[0]);
    saved[0] ^= 1;
    assert_eq!(other.restore(&saved), Err(net::Error::Code(7)));
    println!("7");
""",
}
FORTRAN = {
    DENSE: """
  real(c_float) :: x(3, 2) = reshape([1, 2, 3, 4, 5, 6], [3, 2]), out(4, 2)
  if (load_weights("net.bin") /= 0) stop 2
  if (run(arena, arena_bytes, x, out) /= 0) stop 3
  print '(*(g0, 1x))', nint(out)
""",
    OPEN: """
  real(c_float) :: x(2, 1) = reshape([1, 2], [2, 1]), y(2, 2) = 0, out(2, 3)
  if (run(arena, arena_bytes, 1_c_int64_t, 2_c_int64_t, x, y, out) /= 0) stop 2
  print '(*(g0, 1x))', nint(out), run(arena, arena_bytes, 9_c_int64_t, 2_c_int64_t, x, y, out)
""",
    STATE: """
  type(net) :: one, other
  integer(c_int8_t) :: saved(state_bytes)
  real(c_float) :: x(3) = 1, out(3)
  if (reset(one) /= 0) stop 2
  if (run(arena, arena_bytes, one, x, out) /= 0) stop 3
  if (save(one, saved, c_null_ptr) /= 0) stop 4
  if (run(arena, arena_bytes, one, x, out) /= 0) stop 5
  write (*, '(f6.4, 1x)', advance='no') out(1)
  if (restore(other, c_null_ptr, saved) /= 0) stop 6
  if (run(arena, arena_bytes, other, x, out) /= 0) stop 7
  write (*, '(f6.4, 1x)', advance='no') out(1)
  if (reset(other) /= 0) stop 8
  if (run(arena, arena_bytes, other, x, out) /= 0) stop 9
  write (*, '(f6.4, 1x)', advance='no') out(1)
  saved(1) = ieor(saved(1), 1_c_int8_t)
  print '(g0)', restore(other, c_null_ptr, saved)
""",
}
SUMS = "8 26 44 62 17 62 107 152"
STEPS = "0.9640 0.9640 0.7616 7"


def build(text: str, folder: Path, **options: Any) -> None:
    arguments: dict[str, Any] = {
        DENSE: {"params": {"w": WEIGHTS}, "weights": "file"},
        OPEN: {"shapes": {"x": ("m<=4", 2), "in": ("n<=4", 2)}},
        STATE: {"states": {"h": "out1"}},
    }.get(text, {})
    options = {"emit": "obj", "mcpu": "none", "name": "net", "bindings": "hpp,f90,rs", **arguments, **options}
    irtool.build(irtool.parse(text), out_dir=folder, **options)


def printed_by(folder: Path, *command: str) -> str:
    """The words that a program prints once the command has compiled it."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    compiled = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0 and not compiled.stderr, compiled.stderr
    done = subprocess.run(["./program"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


EXPECTED = {
    "hpp": {
        DENSE: f"{SUMS} net: x, float32[2, 3]: 6 elements are expected, not 5",
        OPEN: "1 2 1 1 1 1 4 net: a length is outside of its bounds",
        STATE: STEPS,
    },
    "rs": {
        DENSE: f"{SUMS} net: x, float32[2, 3]: 6 elements are expected, not 5",
        OPEN: "1 2 1 1 1 1 4 net: a length is outside of its bounds",
        STATE: STEPS,
    },
    "f90": {DENSE: SUMS, OPEN: "1 2 1 1 1 1 4", STATE: STEPS},
}


@pytest.mark.parametrize("text", [DENSE, OPEN, STATE], ids=["weights", "lengths", "states"])
def test_a_program_in_cpp(text: str, tmp_path: Path) -> None:
    build(text, tmp_path)
    heads = "".join(f"#include <{h}>\n" for h in ("array", "cstdio", "vector"))
    (tmp_path / "main.cpp").write_text(f'{heads}#include "net.hpp"\nint main() {{{CPP[text]}}}\n')
    flags = ["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    assert printed_by(tmp_path, "g++", *flags, "main.cpp", "net.o", "-o", "program") == EXPECTED["hpp"][text]


@pytest.mark.parametrize("text", [DENSE, OPEN, STATE], ids=["weights", "lengths", "states"])
def test_a_program_in_rust(text: str, tmp_path: Path) -> None:
    build(text, tmp_path)
    (tmp_path / "main.rs").write_text(f"#[allow(dead_code)]\nmod net;\nfn main() {{{RUST[text]}}}\n")
    flags = ["--edition", "2021", "-D", "warnings", "-C", "link-arg=net.o", "-C", "link-arg=-lm"]
    assert printed_by(tmp_path, "rustc", *flags, "main.rs", "-o", "program") == EXPECTED["rs"][text]


@pytest.mark.parametrize("text", [DENSE, OPEN, STATE], ids=["weights", "lengths", "states"])
def test_a_program_in_fortran(text: str, tmp_path: Path) -> None:
    build(text, tmp_path)
    head = (
        "program main\n  use iso_c_binding\n  use net_f90\n  implicit none\n  integer(c_int8_t) :: arena(arena_bytes)"
    )
    (tmp_path / "main.f90").write_text(f"{head}{FORTRAN[text]}end program\n")
    flags = ["-std=f2008", "-Wall", "-Wextra", "-Wno-unused-dummy-argument"]
    command = ["gfortran", *flags, "net.f90", "main.f90", "net.o", "-o", "program", "-lm"]
    assert printed_by(tmp_path, *command) == EXPECTED["f90"][text]


def test_names_that_are_words_of_a_language(tmp_path: Path) -> None:
    build(BYTES, tmp_path)
    (tmp_path / "main.rs").write_text(
        """#[allow(dead_code)]
mod net;
fn main() {
    let (mut bytes, mut bits) = ([0u8; 2], [0u8; 2]);
    net::Network::new().run(&[255, 7], &[1, 0], &mut bytes, &mut bits).unwrap();
    println!("{bytes:?} {bits:?}");
}
"""
    )
    command = ["rustc", "--edition", "2021", "-C", "link-arg=net.o", "-C", "link-arg=-lm", "main.rs", "-o", "program"]
    assert printed_by(tmp_path, *command) == "[0, 8] [0, 1]"


def test_networks_that_bindings_have_no_form_for_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="bindings need bounds of all lengths"):
        build(OPEN, tmp_path, shapes={"x": ("m", 2), "in": ("n<=4", 2)})
    with pytest.raises(UsageError, match="an archive has no bindings"):
        build(DENSE, tmp_path, emit="mlf")
    with pytest.raises(UsageError, match="bindings='py' is not one of hpp, f90, rs"):
        build(DENSE, tmp_path, bindings="py")
    data = f"{V}type T {{ A(float32), B }}\ndef @main(%t: T) -> float32 {{ match (%t) {{ A(%x) => %x, B => 0f }} }}"
    with pytest.raises(UsageError, match="bindings have tensors, and @main has values of data types"):
        build(data, tmp_path)
    assert not list(tmp_path.iterdir())

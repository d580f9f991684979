"""The C of a network in wrong hands: no workspace, no path, weights that are damaged, replaced, or no file."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.interface.weights_digest import ROW, Digest, c_function
from irtool.diagnostics import ToolError
from tests.driver.programs import compile_c, dense, run

pytestmark = [pytest.mark.promise("faults"), pytest.mark.robustness("faults")]

CALLER = r"""
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static float x[NET_X_SIZE], out[NET_OUT_SIZE];
static unsigned char arena[NET_ARENA_SIZE];
static unsigned mapped(void) { /* how many times the file, whatever it was called, is mapped */
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[4096];
  unsigned found = 0;
  while (maps && fgets(line, sizeof line, maps)) found += strstr(line, ".bin") != NULL;
  if (maps) fclose(maps);
  return found;
}
int main(int argc, char **argv) {
  int i;
  printf("%d %d ", net_run(x, out), net_run_with(NULL, 0, x, out));
  printf("%d %d", net_load_weights(NULL), net_set_weights(NULL));
  for (i = 1; i < argc; ++i) printf(" %d", net_load_weights(argv[i]));
  printf(" %d %d %d", net_run_with(NULL, NET_ARENA_SIZE, x, out), net_run_with(NULL, (size_t)-1, x, out),
         net_run_with(arena, NET_ARENA_SIZE - 1, x, out));
  printf(" %d %u\n", net_run_with(arena, NET_ARENA_SIZE, x, out), mapped());
  return 0;
}
"""
SANITIZED = ["-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsanitize=address,undefined"]


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sources and the weights of a network, and weights in all conditions."""
    folder = tmp_path_factory.mktemp("net")
    module, weights, _ = dense()
    irtool.build(module, weights, out_dir=folder, name="net", weights="file", emit="c")
    data = (folder / "net.bin").read_bytes()
    (folder / "same.bin").write_bytes(data)
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 1
    (folder / "damaged.bin").write_bytes(damaged)
    (folder / "short.bin").write_bytes(data[:-64])
    (folder / "empty.bin").write_bytes(b"")
    other = {**weights, "b": weights["b"] + 1}
    irtool.build(module, other, out_dir=folder / "other", name="net", weights="file", emit="c")
    shutil.copy(folder / "other" / "net.bin", folder / "other.bin")
    os.mkfifo(folder / "pipe.bin")
    (folder / "caller.c").write_text(CALLER)
    return folder


@pytest.mark.parametrize("loader", ["mapped", "read"])
@pytest.mark.parametrize("cc", ["gcc", "clang"])
def test_wrong_weights_and_workspaces_are_refused_under_sanitizers(cc: str, loader: str, net: Path) -> None:
    if shutil.which(cc) is None:
        pytest.skip(f"there is no {cc}")
    flags = [*SANITIZED, "-fno-sanitize-recover=all"]
    wrong = ["damaged.bin", "short.bin", "empty.bin", "other.bin", "none.bin", "net.bin", "same.bin", "damaged.bin"]
    codes = "2 2 2 2 3 0 0 2"
    if loader == "mapped":
        wrong, codes = ["pipe.bin", ".", *wrong], f"3 3 {codes}"
    else:  # as on a system without mmap
        flags += ["-U__unix__", "-U__APPLE__"]
    program = compile_c(net, f"caller_{cc}_{loader}", "caller.c", "net.c", cc=cc, flags=flags)
    done = run(program, *wrong)
    assert done.stderr == ""
    assert done.stdout == f"2 2 3 2 {codes} 1 1 1 0 {int(loader == 'mapped')}\n"


def test_the_check_can_be_left_out(net: Path, tmp_path: Path) -> None:
    """By whoever compiles, and by whoever builds; weights of other programs are refused all the same."""
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    program = compile_c(net, "unchecked", "caller.c", "net.c", flags=[*flags, "-DNET_NO_VERIFY"])
    assert run(program, "damaged.bin", "other.bin", "short.bin").stdout == "2 2 3 2 0 2 2 1 1 1 0 1\n"
    module, weights, x = dense()
    artifact = irtool.build(module, weights, out_dir=tmp_path, name="net", weights="file", verify_weights=False)
    shutil.copy(net / "damaged.bin", tmp_path / "net.bin")
    assert artifact.run([x]).shape == (1, 32)
    assert "digest" not in (tmp_path / "net.c").read_text()


def test_a_library_refuses_damaged_weights(net: Path, tmp_path: Path) -> None:
    module, weights, x = dense()
    artifact = irtool.build(module, weights, out_dir=tmp_path, name="net", weights="file")
    shutil.copy(net / "damaged.bin", tmp_path / "net.bin")
    with pytest.raises(ToolError, match="not the weights of this library, or damaged"):
        artifact.run([x])
    shutil.copy(net / "net.bin", tmp_path / "net.bin")
    np.testing.assert_allclose(artifact.run([x]), irtool.evaluate(module, {"x": x, **weights}), rtol=1e-4, atol=1e-5)


def digest(*parts: bytes | bytearray) -> int:
    sums = Digest()
    for part in parts:
        sums.add(part)
    return sums.value()


@pytest.mark.parametrize("size", [0, 64, ROW - 64, ROW, ROW + 64, 3 * ROW + 128])
def test_the_digest_is_the_same_in_c_and_in_numpy(size: int, tmp_path: Path) -> None:
    data = np.random.RandomState(size).bytes(size)
    (tmp_path / "d.c").write_text(
        "#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n"
        + c_function("digest")
        + f"static unsigned char data[{size + 1}];\n"
        "int main(void) { size_t n = fread(data, 1, sizeof data, stdin);\n"
        '  printf("%016llx", (unsigned long long)digest(data, n)); return 0; }\n'
    )
    program = compile_c(tmp_path, "d", "d.c", flags=["-std=c99", "-O2"])
    done = subprocess.run([program], input=data, capture_output=True, check=True)
    assert int(done.stdout, 16) == digest(data[:100], data[100:])


def test_every_change_of_one_bit_changes_the_digest() -> None:
    g = np.random.RandomState(0)
    data = bytearray(g.bytes(ROW + 640))
    seen = {digest(data)}
    for n in range(300):
        position = int(g.randint(len(data)))
        data[position] ^= 1 << n % 8
        seen.add(digest(data))
    assert len(seen) == 301


def test_changes_of_two_signs_do_not_cancel() -> None:
    """Words whose highest bits change meet only the highest bits of the products."""
    data = bytearray(2 * ROW)
    before = digest(data)
    for position in (7, ROW + 7):  # of the same lane
        data[position] ^= 0x80
    assert digest(data) != before


def test_a_program_says_how_it_is_called(tmp_path: Path) -> None:
    module, weights, x = dense()
    irtool.build(module, weights, out_dir=tmp_path, name="net", weights="file", emit="exe")
    program = tmp_path / "net"
    for flag in ("-h", "--help"):
        asked = run(program, flag)
        assert (asked.returncode, asked.stderr) == (0, "")
        assert asked.stdout.startswith("usage: net [net.bin] x.raw out.raw\n")
        assert "  x.raw  read: float32[1, 16], 64 bytes\n" in asked.stdout and "exit code" in asked.stdout
    for arguments in ([], ["x.raw"], ["a", "b", "c", "d"]):
        wrong = run(program, *arguments)
        assert (wrong.returncode, wrong.stdout, wrong.stderr) == (4, "", asked.stdout)
    x.tofile(tmp_path / "x.raw")
    for arguments in (["x.raw", "out.raw"], ["net.bin", "x.raw", "out.raw"]):
        (tmp_path / "out.raw").unlink(missing_ok=True)
        assert run(program, *arguments).returncode == 0
        got = np.fromfile(tmp_path / "out.raw", "float32").reshape(1, 32)
        np.testing.assert_allclose(got, irtool.evaluate(module, {"x": x, **weights}), rtol=1e-4, atol=1e-5)
    for arguments, code, message in (
        (["none.raw", "out.raw"], 3, "none.raw: No such file or directory\n"),
        ([".", "out.raw"], 3, ".: Is a directory\n"),
        (["x.raw", "no/out.raw"], 3, "no/out.raw: No such file or directory\n"),
        (["x.raw", "/dev/full"], 3, "/dev/full: No space left on device\n"),
        (["none.bin", "x.raw", "out.raw"], 3, "none.bin: cannot be opened or read\n"),
        (["x.raw", "x.raw", "out.raw"], 2, "x.raw: not the weights of this program, or damaged\n"),
        (["net.bin", "out.raw", "x2.raw"], 3, "out.raw: expected 64 bytes, it has more\n"),
    ):
        done = run(program, *arguments)
        assert (done.returncode, done.stderr) == (code, message)

"""C that several threads call at once, under the thread sanitizer: weights loaded by all, each run in a workspace of its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool

TEXT = """#[version = "0.0.5"]
def @step(%n: int32, %h: Tensor[(16, 64), float32], %w: Tensor[(64, 64), float32]) -> Tensor[(16, 64), float32] {
  if (%n > 0) { @step(%n - 1, tanh(nn.dense(%h, %w, units=64)), %w) } else { %h }
}
def @main(%x: Tensor[(16, 64), float32], %w: Tensor[(64, 64), float32]) { nn.softmax(@step(3, %x, %w)) }
"""

# What the sanitizer cannot see of gcc's own library, in threads that it can see.
OPENMP = r"""
static __thread int number, count = 1;
typedef struct { void (*run)(void *); void *data; int number, count; } job;
static void *work(void *p) { job *j = p; number = j->number; count = j->count; j->run(j->data); return 0; }
void GOMP_parallel(void (*run)(void *), void *data, unsigned threads, unsigned flags) {
  pthread_t t[8];
  job jobs[8];
  int n, all = threads && threads < 8 ? (int)threads : 3;
  (void)flags;
  for (n = 1; n < all; ++n) { jobs[n] = (job){run, data, n, all}; pthread_create(&t[n], 0, work, &jobs[n]); }
  count = all;
  run(data);
  count = 1;
  for (n = 1; n < all; ++n) pthread_join(t[n], 0);
}
int omp_get_thread_num(void) { return number; }
int omp_get_num_threads(void) { return count; }
int omp_in_parallel(void) { return count > 1; }
int omp_get_max_threads(void) { return 3; }
int omp_get_num_procs(void) { return 2; }
"""

MAIN = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "net.h"
SUPPORT
static void *serve(void *p) {
  float x[16 * 64], out[16 * 64], first[16 * 64];
  void *arena = malloc(NET_ARENA_SIZE);
  int n;
  LOAD
  for (n = 0; n < 16 * 64; ++n) x[n] = (float)(n % 17) / 17;
  for (n = 0; n < 20; ++n) {
    if (net_run_with(arena, NET_ARENA_SIZE, x, out)) { puts("failed"); exit(5); }
    if (!n) memcpy(first, out, sizeof out);
    if (memcmp(out, first, sizeof out)) { puts("wrong"); exit(3); }
  }
  free(arena);
  return p;
}
int main(void) {
  pthread_t t[4];
  int n;
  for (n = 0; n < 4; ++n) pthread_create(&t[n], 0, serve, 0);
  for (n = 0; n < 4; ++n) pthread_join(t[n], 0);
  return 0;
}
"""


FLAGS = ["-std=gnu99", "-g1", "-O1", "-fsanitize=thread"]


def compile_and_run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["gcc", *FLAGS, *words, "-o", "all"]
    built = subprocess.run([*command, "-lm", "-lpthread"], cwd=folder, capture_output=True, text=True, check=False)
    if built.returncode and "tsan" in built.stderr:
        pytest.skip("gcc has no thread sanitizer here")
    assert built.returncode == 0, built.stderr[:4000]
    return subprocess.run(["./all"], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
@pytest.mark.parametrize("way", ["inline", "file", "team"])
def test_threads_call_one_program(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from irtool.backends.c import program

    monkeypatch.setattr(program, "REGION_WORK", 0)
    (tmp_path / "none.c").write_text("int main(void) { return 0; }\n")
    if compile_and_run(tmp_path, "none.c").returncode:
        pytest.skip("the thread sanitizer does not run here")
    weights = {"w": (np.random.default_rng(0).standard_normal((64, 64)) / 8).astype("float32")}
    irtool.build(
        irtool.parse(TEXT),
        weights,
        name="net",
        emit="c",
        cc="gcc",
        mcpu="none",
        openmp=way == "team",
        weights="file" if way == "file" else "inline",
        out_dir=tmp_path,
    )
    load = 'if (net_load_weights("net.bin")) { puts("not loaded"); exit(4); }' if way == "file" else ""
    text = MAIN.replace("LOAD", load).replace("SUPPORT", OPENMP if way == "team" else "")
    (tmp_path / "main.c").write_text(text)
    flags = ["-fopenmp"] if way == "team" else []
    subprocess.run(["gcc", *FLAGS, *flags, "-c", "net.c"], cwd=tmp_path, check=True)
    done = compile_and_run(tmp_path, "main.c", "net.o")
    assert done.returncode == 0, (done.stdout, done.stderr[:3000])

"""Instances of one network in several threads, under the thread sanitizer: each with its states and a workspace, with and without hooks."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.benchmark.profile_log import read_profile

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(8), float32], %w: Tensor[(8, 8), float32], %h: Tensor[(8), float32]) {
  let %n = add(squeeze(nn.dense(expand_dims(%x, axis=0), %w, units=8), axis=[0]), %h);
  (%n, %n)
}
"""
THREADS, STEPS = 4, 50
MAIN = """#include "net.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *one(void *number) {
  const float x = (float)*(int *)number;
  float in[8], out[8];
  struct net_net net;
  void *arena = malloc(NET_ARENA_SIZE);
  int n;
  for (n = 0; n < 8; ++n) in[n] = x;
  if (!arena || net_load_weights("net.bin") || net_init(&net)) abort();
  for (n = 0; n < STEPS; ++n)
    if (net_step_with(arena, NET_ARENA_SIZE, &net, in, out)) abort();
  for (n = 0; n < 8; ++n)
    if (out[n] != x * STEPS) abort();
  free(arena);
  return NULL;
}
#ifdef NET_PROFILE
static void put(void *to, const char *text) { fputs(text, (FILE *)to); }
#endif
int main(void) {
  pthread_t threads[THREADS];
  int numbers[THREADS], n;
  for (n = 0; n < THREADS; ++n) {
    numbers[n] = n + 1;
    if (pthread_create(&threads[n], NULL, one, &numbers[n])) return 1;
  }
  for (n = 0; n < THREADS; ++n) pthread_join(threads[n], NULL);
#ifdef NET_PROFILE
  net_profile_write(put, stdout);
#endif
  return 0;
}
"""


def sanitizes(compiler: str, folder: Path) -> bool:
    """True if programs of this compiler run under the thread sanitizer here."""
    if shutil.which(compiler) is None:
        return False
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    command = [compiler, "-fsanitize=thread", "empty.c", "-o", "empty"]
    return not any(subprocess.run(c, cwd=folder, capture_output=True).returncode for c in (command, ["./empty"]))


@pytest.mark.parametrize("compiler", ["gcc", "clang-16"])
@pytest.mark.parametrize("flags", [(), ("-DNET_PROFILE",)])
def test_instances_share_nothing_but_weights(compiler: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    if not sanitizes(compiler, tmp_path):
        pytest.skip(f"needs {compiler} with the thread sanitizer")
    weights = {"w": np.eye(8, dtype="float32")}
    options = {"emit": "c", "name": "net", "weights": "file", "states": {"h": "out1"}}
    irtool.build(irtool.parse(TEXT), weights, out_dir=tmp_path, **options)  # type: ignore[arg-type]
    (tmp_path / "main.c").write_text(MAIN)
    command = [compiler, "-g", "-O1", "-fsanitize=thread", "-pthread", "-DIRT_NO_NOTICE", *flags]
    macros = [f"-DTHREADS={THREADS}", f"-DSTEPS={STEPS}"]
    subprocess.run([*command, *macros, "net.c", "main.c", "-o", "app", "-lm"], cwd=tmp_path, check=True)
    run = subprocess.run(["./app"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    if flags:
        log = read_profile(run.stdout, "log")
        assert len(log.calls) >= THREADS * STEPS and log.lost == 0 and len(log.calls) % (THREADS * STEPS) == 0

"""Threads: one parallel region for a run, threads that meet between kernels, and results that are those of one thread."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.backends.c import program
from irtool.backends.library import Library
from tests.backends.teams import INPUTS, outputs, set_threads

pytestmark = [
    pytest.mark.promise("threads in teams"),
    pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc"),
]

TEXT = """#[version = "0.0.5"]
def @twice(%n: int32, %v: Tensor[(130, 192), float32], %w: Tensor[(192, 192), float32]) -> Tensor[(130, 192), float32] {
  if (%n > 0) { @twice(%n - 1, tanh(nn.dense(%v, %w, units=192)), %w) } else { %v }
}
def @main(%x: Tensor[(130, 512), float32], %k: Tensor[(192, 512), float32], %w: Tensor[(192, 192), float32]) {
  let %y = nn.softmax(tanh(nn.dense(%x, %k, units=192)));
  let %m = if (sum(%y) > 0f) { @twice(3, %y, %w) } else { multiply(%y, 2f) };
  (%m, sum(%m, axis=[1]), nn.dense(%m, %y, units=130))
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("teams")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "REGION_WORK", 0)
        irtool.build(irtool.parse(TEXT), name="net", openmp=True, cc="gcc", out_dir=path)
    return path


def test_any_number_of_threads_gives_the_bits_of_one(folder: Path) -> None:
    library = Library(folder / "net.so", "net")
    want = [np.asarray(v) for v in irtool.evaluate(irtool.parse(TEXT), INPUTS)]
    one: list[np.ndarray] = []
    for count in (1, 2, 3, 7, 100, 1):  # changed while it is loaded; more than there are cores, or parts
        set_threads(library, count)
        for _ in range(3):
            got = outputs()
            library.run(INPUTS, got)
            one = one or got
            for a, b, c in zip(got, one, want):
                np.testing.assert_array_equal(a, b)
                np.testing.assert_allclose(a, c, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "int64", "uint64", "float16", "float64"])
@pytest.mark.parametrize("shape", ["3, 40000", "?, 40000"], ids=["extents", "a length"])
def test_threads_take_tensors_of_every_dtype(shape: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task finds its operands behind pointers: tensors stay pointers there, lengths become numbers."""
    monkeypatch.setattr(program, "REGION_WORK", 0)
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[({shape}), {dtype}], %y: Tensor[({shape}), {dtype}]) {{ where(equal(%x, %y), %y, %x) }}
"""
    shapes = dict.fromkeys("xy", ("n<=3", 40000)) if "?" in shape else None
    artifact = irtool.build(irtool.parse(text), openmp=True, cc="gcc", shapes=shapes)
    x, y = (np.random.default_rng(n).integers(0, 2, (3, 40000)).astype(dtype) for n in range(2))
    np.testing.assert_array_equal(artifact.run([x, y]), np.where(x == y, y, x))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the tiles of another processor have one loop around them")
def test_two_loops_are_shared_as_one(tmp_path: Path) -> None:
    irtool.build(irtool.parse(TEXT), name="net", openmp=True, cc="gcc", mcpu="x86-64-v4", out_dir=tmp_path, emit="c")
    assert re.search(r"const int32_t \w+ = i\w* / \d+;", (tmp_path / "net.c").read_text())


def test_a_run_is_one_region_and_less_work_than_a_region_costs_has_none(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (folder / "net.c").read_text()
    assert text.count("#pragma omp") == 1 and "irt_share(worker, " in text and "irt_wait(worker, " in text
    monkeypatch.setattr(program, "REGION_WORK", 1 << 40)
    irtool.build(irtool.parse(TEXT), name="net", openmp=True, cc="gcc", out_dir=tmp_path, emit="c")
    text = (tmp_path / "net.c").read_text()
    assert "#pragma omp" not in text and "irt_first(worker, " in text
    for flags in (["-fopenmp"], [], ["-std=c99", "-pedantic"]):
        line = ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", *flags, "-c", "net.c"]
        for place in (folder, tmp_path):
            done = subprocess.run(
                [*line, "-DIRT_NO_NOTICE", "-o", "net.o"], cwd=place, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr


ROW = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, COLUMNS), float32], %w: Tensor[(1024, COLUMNS), float32]) {
  nn.relu(nn.dense(%x, %w, units=1024))
}
"""
LOOKED_UP = """#[version = "0.0.5"]
def @main(%table: Tensor[(50257, 64), float32], %x: Tensor[(64), int64]) {
  nn.relu(take(%table, %x, axis=0))
}
"""


@pytest.mark.parametrize(
    ("text", "regions"),
    [
        pytest.param(ROW.replace("COLUMNS", "1024"), 1, id="four_megabytes"),
        pytest.param(ROW.replace("COLUMNS", "256"), 0, id="one_megabyte"),
        pytest.param(LOOKED_UP, 0, id="rows_of_a_table"),
    ],
)
def test_what_a_run_reads_is_work(text: str, regions: int, tmp_path: Path) -> None:
    irtool.build(irtool.parse(text), name="net", openmp=True, cc="gcc", mcpu="x86-64-v3", out_dir=tmp_path, emit="c")
    assert (tmp_path / "net.c").read_text().count("#pragma omp") == regions


def test_several_threads_of_the_user_may_run_it_at_once(folder: Path) -> None:
    library = Library(folder / "net.so", "net")
    size = 1 << 23
    got = [outputs() for _ in range(4)]

    def run(into: list[np.ndarray]) -> None:
        set_threads(library, 3)  # for this thread
        arena = np.empty(size, "uint8")
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (arena, *INPUTS, *into)]
        for _ in range(5):
            code = library._library.net_run_with(pointers[0], ctypes.c_size_t(size), *pointers[1:])
            assert code == 0

    running = [threading.Thread(target=run, args=(o,)) for o in got]
    for t in running:
        t.start()
    for t in running:
        t.join()
    for o in got:
        for a, b in zip(o, got[0]):
            np.testing.assert_array_equal(a, b)


AFTER_FORK = """
import os, signal, sys
from pathlib import Path
import tests.backends.teams as t
from irtool.backends.library import Library
library = Library(Path(sys.argv[1]) / "net.so", "net")
t.set_threads(library, 2)
one, two = t.outputs(), t.outputs()
library.run(t.INPUTS, one)
child = os.fork()
if not child:
    signal.alarm(60)
    library.run(t.INPUTS, two)
    os._exit(0 if all((a == b).all() for a, b in zip(one, two)) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork") or not hasattr(signal, "alarm"), reason="no fork")
def test_a_forked_process_runs_it_too(folder: Path) -> None:
    """The threads of the process that was forked are not in the new one: it would wait for them for ever."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", AFTER_FORK, folder], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_nobody_turns_when_nothing_runs(folder: Path) -> None:
    library = Library(folder / "net.so", "net")
    set_threads(library, 2)
    library.run(INPUTS, outputs())
    time.sleep(0.05)
    began = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - began < 0.1


REGIONS = """
#include <pthread.h>
#include <stdlib.h>

/* OpenMP's parallel regions, by threads that the sanitizer sees: it knows nothing of those inside of libgomp. */
typedef struct { void (*body)(void *); void *data; int number, count; } part;
static __thread int number, count = 1;
int omp_get_thread_num(void) { return number; }
int omp_get_num_threads(void) { return count; }
int omp_get_max_threads(void) { return 5; }
int omp_get_num_procs(void) { return PROCESSORS; }
int omp_in_parallel(void) { return count > 1; }
static void *run(void *given) {
  const part *const p = given;
  number = p->number;
  count = p->count;
  p->body(p->data);
  return NULL;
}
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags) {
  part parts[64];
  pthread_t made[64];
  unsigned n;
  (void)flags;
  for (n = 0; n < threads; ++n) parts[n] = (part){body, data, (int)n, (int)threads};
  for (n = 1; n < threads; ++n) if (pthread_create(made + n, NULL, run, parts + n)) abort();
  run(parts);
  for (n = 1; n < threads; ++n) pthread_join(made[n], NULL);
  number = 0;
  count = 1;
}
"""

CALLERS = """
#include "net.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static float x[130 * 512], k[192 * 512], w[192 * 192], out[3][130 * 192 + 130 + 130 * 130];
static void *caller(void *given) {
  float *o = given;
  void *arena = malloc(NET_ARENA_SIZE);
  long code = 0;
  int n;
  for (n = 0; n < 3; ++n) code |= net_run_with(arena, NET_ARENA_SIZE, x, k, w, o, o + 130 * 192, o + 130 * 192 + 130);
  free(arena);
  return (void *)code;
}
int main(void) {
  pthread_t made[3];
  int n, code = 0;
  for (n = 0; n < 130 * 512; ++n) x[n] = (float)(n % 17 - 8) * 0.1f;
  for (n = 0; n < 192 * 512; ++n) k[n] = (float)(n % 13 - 6) * 0.01f;
  for (n = 0; n < 192 * 192; ++n) w[n] = (float)(n % 11 - 5) * 0.01f;
  for (n = 0; n < 3; ++n) if (pthread_create(made + n, NULL, caller, out[n])) return 9;
  for (n = 0; n < 3; ++n) {
    void *found;
    pthread_join(made[n], &found);
    code |= found != NULL;
  }
  if (code) return 8;
  return memcmp(out[0], out[1], sizeof out[0]) || memcmp(out[0], out[2], sizeof out[0]);
}
"""


LATE = """
#include "net.h"
#include <stdio.h>
/* Threads that begin when the first one is done. */
static int number, count = 1;
int omp_get_thread_num(void) { return number; }
int omp_get_num_threads(void) { return count; }
int omp_get_max_threads(void) { return 3; }
int omp_get_num_procs(void) { return 3; }
int omp_in_parallel(void) { return count > 1; }
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags) {
  (void)flags;
  count = (int)threads;
  for (number = 0; number < count; ++number) body(data);
  number = 0;
  count = 1;
}
static float x[4 * 80 * 80], out[4 * 80 * 80];
int main(void) {
  int n, code;
  for (n = 0; n < 4 * 80 * 80; ++n) x[n] = (float)(n % 17 - 8) * 0.1f;
  code = net_run(x, out);
  for (n = 0; n < 4 * 80 * 80; ++n) printf("%.9g\\n", (double)out[n]);
  return code;
}
"""


def test_nobody_waits_for_threads_that_join_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread whose core has other work may be late for all of a run."""
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 80, 80), float32]) {
  nn.max_pool2d(nn.max_pool2d(%x, pool_size=[3, 3], padding=[1, 1, 1, 1]), pool_size=[3, 3], padding=[1, 1, 1, 1])
}
"""
    monkeypatch.setattr(program, "REGION_WORK", 0)
    module = irtool.parse(text)
    irtool.build(module, name="net", openmp=True, cc="gcc", out_dir=tmp_path, emit="c", mcpu="native")
    assert (tmp_path / "net.c").read_text().count("irt_share(worker, ") == 2
    (tmp_path / "late.c").write_text(LATE)
    command = ["gcc", "-O1", "-fopenmp", "-march=native", "-DIRT_NO_NOTICE", "-c", "net.c", "late.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-o", "all", "net.o", "late.o", "-lm", "-lpthread"], cwd=tmp_path, check=True)
    done = subprocess.run(["./all"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    x = ((np.arange(4 * 80 * 80) % 17 - 8).astype("float32") * np.float32(0.1)).reshape(1, 4, 80, 80)
    want = np.asarray(irtool.evaluate(module, [x]))
    np.testing.assert_array_equal(np.array(done.stdout.split(), "float32").reshape(x.shape), want)


@pytest.mark.parametrize(("steps", "pays"), [(2, False), (200, True)])
def test_a_run_is_worth_threads_by_what_its_loops_repeat(steps: int, pays: bool, tmp_path: Path) -> None:
    text = f"""#[version = "0.0.5"]
def @twice(%n: int32, %v: Tensor[(1, 256), float32], %w: Tensor[(256, 256), float32]) -> Tensor[(1, 256), float32] {{
  if (%n > 0) {{ @twice(%n - 1, tanh(nn.dense(%v, %w, units=256)), %w) }} else {{ %v }}
}}
def @main(%x: Tensor[(1, 256), float32], %w: Tensor[(256, 256), float32]) {{ @twice({steps}, %x, %w) }}
"""
    irtool.build(irtool.parse(text), name="net", openmp=True, cc="gcc", out_dir=tmp_path, emit="c")
    assert ("#pragma omp" in (tmp_path / "net.c").read_text()) == pays


@pytest.mark.parametrize("processors", [2, 8], ids=["threads sleep at once", "threads spin first"])
def test_threads_race_for_nothing(processors: int, folder: Path, tmp_path: Path) -> None:
    """Several threads of the user's, each with a team, under the thread sanitizer."""
    (tmp_path / "empty.c").write_text("int main(void) { return 0; }\n")
    probe = ["gcc", "-fsanitize=thread", "empty.c", "-o", "empty"]
    if subprocess.run(probe, cwd=tmp_path, capture_output=True, check=False).returncode != 0:
        pytest.skip("no thread sanitizer")
    for name in ("net.c", "net.h"):
        shutil.copy(folder / name, tmp_path)
    (tmp_path / "regions.c").write_text(REGIONS)
    (tmp_path / "callers.c").write_text(CALLERS)
    command = ["gcc", "-g1", "-O1", "-march=native", "-DIRT_NO_NOTICE", "-fsanitize=thread"]
    command.append(f"-DPROCESSORS={processors}")
    sources = ["net.c", "regions.c", "callers.c"]
    compiled = subprocess.run(
        [*command, "-fopenmp", "-c", *sources], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert compiled.returncode == 0, compiled.stderr[:4000]
    objects = [s.replace(".c", ".o") for s in sources]
    linked = subprocess.run(
        [*command, "-o", "all", *objects, "-lm", "-lpthread"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert linked.returncode == 0, linked.stderr[:4000]
    done = subprocess.run(["./all"], cwd=tmp_path, capture_output=True, text=True, check=False)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("the thread sanitizer has no room in this kernel's layout of memory")
    assert done.returncode == 0, done.stderr[:4000]

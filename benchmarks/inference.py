"""Whole networks: an inference on one core as a share of the peak, two threads against one, and what a build takes."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable

import irtool

from .measure import OtherWork
from .native import Compiled, weights_of
from .networks.mobilenet import mobilenet
from .networks.resnet import resnet
from .networks.transformer import bert
from .networks.vgg import vgg

_NETWORKS: tuple[tuple[str, Callable[[], str], tuple[str, ...]], ...] = (
    ("ResNet-50", lambda: resnet(50), ("data",)),
    ("VGG-16", vgg, ("data",)),
    ("BERT-base, 128 tokens", bert, ("input_ids",)),
    ("MobileNet", mobilenet, ("data",)),
)

_ROUNDS = 15
_QUIET = 0.2
"""Cores that other processes may use in a round that counts."""


def run() -> None:
    """Prints the tables."""
    print("networks: an inference on one core, as a share of the multiply-adds that the core can do beside it")
    for title, text, inputs in _NETWORKS:
        net = Compiled(text(), inputs=inputs)
        timed = net.whole()
        print(
            f"  {title:24s} {timed.seconds * 1e3:8.1f} ms {net.flops / 1e9:7.2f} GFLOP "
            f"{timed.of_peak * 100:6.1f} % of {net.peak() / 1e9:.1f} GFLOPS"
        )
        del net
    _threads()
    _builds()


def _threads() -> None:
    """The wall-clock time of ResNet-50 with one thread and with two, in turn, while the other cores have nothing else to do.

    Rounds in which other processes worked are set aside, whatever they gave; if most were so, all count, and the line says
    that the machine was busy.
    """
    one, two = Compiled(resnet(50)), Compiled(resnet(50), openmp=True)
    two.use_threads(2)
    one.once(), two.once()
    quiet: list[float] = []
    busy: list[float] = []
    others = wall = alone = ran = 0.0
    while len(quiet) < _ROUNDS and len(quiet) + len(busy) < 4 * _ROUNDS:
        with OtherWork() as other:
            began = time.process_time()
            a = one.once()
            ran += time.process_time() - began
            b = two.once()
        (quiet if other.seconds < _QUIET * (a + b) else busy).append(a / b)
        others, wall, alone = others + other.seconds, wall + a + b, alone + a
    counted = quiet if len(quiet) >= _ROUNDS // 2 else quiet + busy
    quartiles = statistics.quantiles(counted, n=4)
    print(
        f"  ResNet-50, two threads: {quartiles[1]:.2f} times one (quartiles {quartiles[0]:.2f} and {quartiles[2]:.2f} of {len(counted)} "
        f"rounds), {os.cpu_count()} cores"
    )
    print(
        f"    other processes took {others / wall:.2f} cores; one thread ran {min(1.0, ran / alone) * 100:.0f} % of its time; "
        + ("the machine was BUSY: all rounds count" if counted is not quiet else f"{len(busy)} busy rounds set aside")
    )


def _builds() -> None:
    """`build` of ResNet-50 to a shared library: without the cache, into it, and out of it."""
    module = irtool.infer_types(irtool.parse(resnet(50)))
    weights = weights_of(module, ("data",))
    with tempfile.TemporaryDirectory(prefix="irtool-bench-") as folder:
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = folder
        try:
            times = []
            for cached in (False, True, True):
                start = time.perf_counter()
                irtool.build(module, params=weights, out_dir=f"{folder}/out", cache=cached)
                times.append(time.perf_counter() - start)
        finally:
            if before is None:
                del os.environ["XDG_CACHE_HOME"]
            else:
                os.environ["XDG_CACHE_HOME"] = before
    print(
        f"  ResNet-50, build: {times[0]:.1f} s; {times[1]:.1f} s with writing the cache; {times[2]:.2f} s from the cache"
    )

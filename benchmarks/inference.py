"""Whole networks: an inference on one core as a share of the peak, two threads against one, and what a build takes."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable

import irtool

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
    """The wall-clock time of ResNet-50 with one thread and with two, in turn."""
    one, two = Compiled(resnet(50)), Compiled(resnet(50), openmp=True)
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    one.once(), two.once()
    found = []
    for _ in range(15):
        a = one.once()
        found.append(a / two.once())
    found.sort()
    print(
        f"  ResNet-50, two threads: {statistics.median(found):.2f} times one (best {found[-1]:.2f}), {os.cpu_count()} cores"
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

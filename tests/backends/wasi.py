"""`python wasi.py PROGRAM`: runs a WebAssembly program with this process's standard input and output, in wasmtime."""

from __future__ import annotations

import sys

import wasmtime

if __name__ == "__main__":
    engine = wasmtime.Engine()
    linker, config = wasmtime.Linker(engine), wasmtime.WasiConfig()
    linker.define_wasi()
    config.inherit_stdin()
    config.inherit_stdout()
    config.inherit_stderr()
    store = wasmtime.Store(engine)
    store.set_wasi(config)
    exports = linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[1])).exports(store)
    try:
        exports["_start"](store)  # type: ignore[operator]  # a function, in programs
    except wasmtime.ExitTrap as end:
        sys.exit(end.code)

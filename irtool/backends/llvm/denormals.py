"""The processor's mode that treats denormal numbers as zeros, switched around a run: see `backends.c.denormals`."""

from __future__ import annotations

import platform

from .builder import Builder

X86, ARM = "x86_64", "aarch64"
_NAMES = {"amd64": X86, "x86_64h": X86, "arm64": ARM}
_MXCSR = 0x8040
_FPCR = 1 << 24


def architecture(triple: str) -> str:
    """The architecture of a triple, or of this machine; empty for one without a known mode."""
    name = (triple.split("-")[0] or platform.machine()).lower()
    name = _NAMES.get(name, name)
    return name if name in (X86, ARM) else ""


def declarations(architecture: str) -> list[str]:
    """Declarations of the functions that the instructions below call."""
    if architecture == X86:
        return ["declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)"]
    return ["declare i64 @llvm.aarch64.get.fpcr()", "declare void @llvm.aarch64.set.fpcr(i64)"]


def flush(b: Builder, architecture: str) -> str:
    """Switches the thread's mode. The operand receives the previous mode."""
    if architecture == X86:
        before, during = b.slot("i32", "before"), b.slot("i32", "during")
        b.do(f"call void @llvm.x86.sse.stmxcsr(ptr {before})")
        mode = b.value(f"or i32 {b.value(f'load i32, ptr {before}')}, {_MXCSR}")
        b.do(f"store i32 {mode}, ptr {during}")
        b.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {during})")
        return before
    mode = b.value("call i64 @llvm.aarch64.get.fpcr()", "before")
    b.do(f"call void @llvm.aarch64.set.fpcr(i64 {b.value(f'or i64 {mode}, {_FPCR}')})")
    return mode


def restore(b: Builder, architecture: str, before: str) -> None:
    """Restores the mode that `flush` returned."""
    if architecture == X86:
        b.do(f"call void @llvm.x86.sse.ldmxcsr(ptr {before})")
    else:
        b.do(f"call void @llvm.aarch64.set.fpcr(i64 {before})")

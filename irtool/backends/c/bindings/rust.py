"""`NAME.rs`: a safe wrapper without dependencies, for `include!` or `mod`."""

from __future__ import annotations

import json
import re

from ...c_types import stored_type
from ...interface.comment import inside
from ...interface.entry import EntryPoint, Parameter
from .network import BoundNetwork, size_checks

_TYPES = {
    "float": "f32",
    "double": "f64",
    **{f"{u}int{n}_t": f"{'u' if u else 'i'}{n}" for u in ("", "u") for n in (8, 16, 32, 64)},
}
_WORDS_OF_RUST = """
as async await box break const continue crate dyn else enum extern false fn for final if impl in let loop macro match mod move mut
override priv pub ref return self Self static struct super trait true try type typeof unsafe unsized use virtual where while yield
abstract become do gen check expect
"""
_WORDS = frozenset(_WORDS_OF_RUST.split())

_ERROR = """\
/// An error of the network: its number, or a tensor of a wrong size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    Code(i32),
    Size { tensor: &'static str, expected: usize, actual: usize },
}

impl std::fmt::Display for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Code(code) => write!(out, "@NAME@: {}", message(*code)),
            Error::Size { tensor, expected, actual } => {
                write!(out, "@NAME@: {tensor}: {expected} elements are expected, not {actual}")
            }
        }
    }
}

impl std::error::Error for Error {}

fn check(code: i32) -> Result<(), Error> {
    if code == 0 { Ok(()) } else { Err(Error::Code(code)) }
}

fn expect(tensor: &'static str, actual: usize, expected: usize, exact: bool) -> Result<(), Error> {
    if actual == expected || (!exact && actual > expected) {
        Ok(())
    } else {
        Err(Error::Size { tensor, expected, actual })
    }
}
"""


def write_rust(network: BoundNetwork) -> str:
    """The text of the file."""
    name, first = network.name, network.entries[0]
    messages = [f"        {code} => {json.dumps(message)}," for code, message in network.errors.items()]
    instance = first.instance
    words = -(-instance.nbytes // 8) if instance is not None else 0
    lines = [
        *(f"// {inside(line)}".rstrip() for line in network.banner),
        "",
        "mod c {",
        '    extern "C" {',
        *(f"        {line}" for line in _declarations(network)),
        "    }",
        "}",
        "",
        _ERROR.replace("@NAME@", name),
        "fn message(code: i32) -> &'static str {",
        "    match code {",
        *messages,
        '        _ => "unknown error",',
        "    }",
        "}",
        "",
        *(_loader(name) if network.has_weights else []),
        "/// Bytes of workspace of one run.",
        f"pub const ARENA_BYTES: usize = {network.arena_bytes};",
        *(
            [f"/// Bytes of saved states.\npub const STATE_BYTES: usize = {instance.saved_bytes};"]
            if instance is not None
            else []
        ),
        "",
        "/// The network with a workspace of its own.",
        "pub struct Network {",
        "    arena: Vec<u64>,",
        *([f"    net: Box<[u64; {words}]>,"] if instance is not None else []),
        "}",
        "",
        "impl Network {",
        "    pub fn new() -> Self {",
        *_constructor(words, instance is not None),
        "    }",
        *(line for entry in network.entries for line in _run(entry, network)),
        *(_states(name) if instance is not None else []),
        "}",
        "",
        "impl Default for Network {",
        "    fn default() -> Self {",
        "        Self::new()",
        "    }",
        "}",
        "",
    ]
    return "\n".join(lines)


def _constructor(words: int, has_states: bool) -> list[str]:
    arena = "arena: vec![0; ARENA_BYTES.div_ceil(8)]"
    if not has_states:
        return [f"        Network {{ {arena} }}"]
    return [
        f"        let mut network = Network {{ {arena}, net: Box::new([0; {words}]) }};",
        "        network.reset();",
        "        network",
    ]


def _declarations(network: BoundNetwork) -> list[str]:
    name, lines = network.name, []
    for entry in network.entries:
        parameters = ["arena: *mut u64", "size: usize"]
        parameters += ["net: *mut u64"] if entry.instance is not None else []
        parameters += [f"{_name(s.name)}: i64" for s in entry.symbols]
        parameters += [f"{_name(p.name)}: *const {_type(p)}" for p in entry.inputs]
        parameters += [f"{_name(p.name)}: *mut {_type(p)}" for p in entry.outputs]
        lines.append(f"pub fn {entry.run_with}({', '.join(parameters)}) -> i32;")
    if network.has_weights:
        lines.append(f"pub fn {name}_load_weights(path: *const std::os::raw::c_char) -> i32;")
    if network.entries[0].instance is not None:
        lines.append(f"pub fn {name}_init(net: *mut u64) -> i32;")
        lines.append(f"pub fn {name}_state(net: *mut u64, saved: *mut u8, restored: *const u8) -> i32;")
    return lines


def _loader(name: str) -> list[str]:
    return [
        "/// Loads the weights, before the first run.",
        "pub fn load_weights(path: &std::ffi::CStr) -> Result<(), Error> {",
        f"    check(unsafe {{ c::{name}_load_weights(path.as_ptr()) }})",
        "}",
        "",
    ]


def _run(entry: EntryPoint, network: BoundNetwork) -> list[str]:
    parameters = [f"{_name(s.name)}: i64" for s in entry.symbols]
    parameters += [f"{_name(p.name)}: &[{_type(p)}]" for p in entry.inputs]
    parameters += [f"{_name(p.name)}: &mut [{_type(p)}]" for p in entry.outputs]
    arguments = ["self.arena.as_mut_ptr()", "8 * self.arena.len()"]
    arguments += ["self.net.as_mut_ptr()"] if entry.instance is not None else []
    arguments += [_name(s.name) for s in entry.symbols]
    arguments += [f"{_name(p.name)}.as_ptr()" for p in entry.inputs]
    arguments += [f"{_name(p.name)}.as_mut_ptr()" for p in entry.outputs]
    checks = [
        f"        expect({json.dumps(label)}, {_name(p.name)}.len(), {_count(count)}, {str(is_exact).lower()})?;"
        for p, label, count, is_exact in size_checks(entry)
    ]
    what = "A step" if entry.instance is not None else "A run"
    return [
        "",
        f"    /// {what}; tensors of other sizes are refused before anything is computed.",
        "    #[allow(clippy::too_many_arguments)]",
        f"    pub fn {network.method(entry)}(&mut self, {', '.join(parameters)}) -> Result<(), Error> {{",
        *checks,
        f"        check(unsafe {{ c::{entry.run_with}({', '.join(arguments)}) }})",
        "    }",
    ]


def _states(name: str) -> list[str]:
    return [
        "",
        "    /// Gives the states their first values.",
        "    pub fn reset(&mut self) {",
        f"        unsafe {{ c::{name}_init(self.net.as_mut_ptr()) }};",
        "    }",
        "",
        "    /// The states, for `restore`.",
        "    pub fn save(&mut self) -> Vec<u8> {",
        "        let mut saved = vec![0; STATE_BYTES];",
        f"        unsafe {{ c::{name}_state(self.net.as_mut_ptr(), saved.as_mut_ptr(), std::ptr::null()) }};",
        "        saved",
        "    }",
        "",
        "    /// Takes the states that `save` gave; other bytes change nothing.",
        "    pub fn restore(&mut self, saved: &[u8]) -> Result<(), Error> {",
        '        expect("the saved states", saved.len(), STATE_BYTES, true)?;',
        f"        check(unsafe {{ c::{name}_state(self.net.as_mut_ptr(), std::ptr::null_mut(), saved.as_ptr()) }})",
        "    }",
    ]


def _count(text: str) -> str:
    """A number of elements of `i64` lengths: a formula in C has conditional expressions where Rust has `if`."""
    if text.isdigit():
        return text
    while "?" in text:
        text = re.sub(r"\(([^()?:]+) \? ([^()?:]+) : ([^()?:]+)\)", r"if \1 { \2 } else { \3 }", text, count=1)
    names = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: m[0] if m[0] in ("if", "else") else _name(m[0]), text)
    return f"({names}).max(0) as usize"


def _name(text: str) -> str:
    return f"{text}_" if text in _WORDS else text


def _type(p: Parameter) -> str:
    return _TYPES[stored_type(p.slot.dtype)]

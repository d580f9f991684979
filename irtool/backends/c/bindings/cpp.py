"""`NAME.hpp`: a class that owns the workspace and the states, and takes spans. C++17."""

from __future__ import annotations

import json

from ...c_types import stored_type
from ...interface.comment import comment
from ...interface.entry import EntryPoint, Parameter
from .network import BoundNetwork, size_checks

_SPAN = """\
/** Elements that lie behind each other, and belong to the caller: a std::vector, a std::array, a std::span, or a pointer and a number. */
template <class T>
class Span {
 public:
  Span(T *data, std::size_t size) : data_(data), size_(size) {}
  template <class Container, class = decltype(static_cast<T *>(std::declval<Container &>().data()))>
  Span(Container &&container) : data_(container.data()), size_(container.size()) {}
  T *data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T *data_;
  std::size_t size_;
};

/** The error of a function of the network; `code` is the number that it returned. */
class Error : public std::runtime_error {
 public:
  Error(int number, const char *message) : std::runtime_error(message), code(number) {}
  const int code;
};
"""


def write_cpp(network: BoundNetwork) -> str:
    """The text of the file."""
    name, upper = network.name, network.name.upper()
    cases = [f"    case {code}: throw Error(code, {json.dumps(f'{name}: {m}')});" for code, m in network.errors.items()]
    first = network.entries[0]
    own = [
        "  std::unique_ptr<unsigned char[]> arena_{new unsigned char[arena_bytes]};",
        *([f"  struct {name}_net net_;"] if first.instance is not None else []),
    ]
    lines = [
        *comment(network.banner),
        f"#ifndef {upper}_HPP",
        f"#define {upper}_HPP",
        "",
        "#include <cstddef>",
        "#include <cstdint>",
        "#include <memory>",
        "#include <stdexcept>",
        "#include <string>",
        "#include <utility>",
        *(["#include <vector>"] if first.instance is not None else []),
        "",
        f'#include "{name}.h"',
        "",
        f"namespace {name}_cpp {{",
        "",
        _SPAN,
        "inline void check(int code) {",
        "  switch (code) {",
        "    case 0: return;",
        *cases,
        f"    default: throw Error(code, {json.dumps(f'{name}: unknown error')});",
        "  }",
        "}",
        "",
        *(_loader(name) if network.has_weights else []),
        "/** The network with a workspace of its own: for any number of threads, each with a network of its own. */",
        "class Network {",
        " public:",
        f"  static constexpr std::size_t arena_bytes = {network.arena_bytes}u;",
        "",
        *(["  Network() { reset(); }", ""] if first.instance is not None else []),
        *(line for entry in network.entries for line in _run(entry, network)),
        *(_states(name) if first.instance is not None else []),
        " private:",
        "  template <class T>",
        "  static void expect(const char *tensor, Span<T> span, std::size_t count, bool exact) {",
        "    if (exact ? span.size() != count : span.size() < count)",
        '      throw std::invalid_argument(std::string(tensor) + ": " + (exact ? "" : "at least ") + std::to_string(count) +',
        '                                  " elements are expected, not " + std::to_string(span.size()));',
        "  }",
        "",
        *own,
        "};",
        "",
        f"}}  // namespace {name}_cpp",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def _loader(name: str) -> list[str]:
    return [
        "/** Loads the weights, before the first run. */",
        f"inline void load_weights(const std::string &path) {{ check({name}_load_weights(path.c_str())); }}",
        "",
    ]


def _run(entry: EntryPoint, network: BoundNetwork) -> list[str]:
    parameters = [f"std::int64_t {s.name}" for s in entry.symbols]
    parameters += [f"Span<{_element(p, p in entry.inputs)}> {p.name}" for p in entry.tensors]
    net = ["&net_"] if entry.instance is not None else []
    arguments = [*net, *(s.name for s in entry.symbols), *(f"{p.name}.data()" for p in entry.tensors)]
    checks = [
        f"    expect({json.dumps(f'{network.name}: {label}')}, {p.name}, static_cast<std::size_t>({count}), {str(is_exact).lower()});"
        for p, label, count, is_exact in size_checks(entry)
    ]
    what = "A step" if entry.instance is not None else "A run"
    return [
        f"  /** {what}. Throws std::invalid_argument for tensors of other sizes, before anything is computed. */",
        f"  void {network.method(entry)}({', '.join(parameters)}) {{",
        *checks,
        f"    check({entry.run_with}({', '.join(['arena_.get()', 'arena_bytes', *arguments])}));",
        "  }",
        "",
    ]


def _states(name: str) -> list[str]:
    upper = name.upper()
    return [
        "  /** Gives the states their first values. */",
        f"  void reset() {{ check({name}_init(&net_)); }}",
        "  /** The states, for `restore`. */",
        "  std::vector<unsigned char> save() {",
        f"    std::vector<unsigned char> saved({upper}_STATE_SIZE);",
        f"    check({name}_state(&net_, saved.data(), nullptr));",
        "    return saved;",
        "  }",
        "  /** Takes the states that `save` gave; other bytes change nothing. */",
        "  void restore(Span<const unsigned char> saved) {",
        f'    expect("{name}: the saved states", saved, {upper}_STATE_SIZE, true);',
        f"    check({name}_state(&net_, nullptr, saved.data()));",
        "  }",
        "",
    ]


def _element(p: Parameter, is_input: bool) -> str:
    return f"{'const ' if is_input else ''}{stored_type(p.slot.dtype)}"

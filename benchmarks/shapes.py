"""Modules of any size, one kind of growth each: the text of a module of about `n` nodes."""

from __future__ import annotations

from collections.abc import Callable

V = '#[version = "0.0.5"]\n'
T = "Tensor[(4), float32]"
LIST = "type List[A] { Cons(A, List[A]), Nil }\n"

Shape = Callable[[int], str]


def _main(params: str, body: str, before: str = "") -> str:
    return f"{V}{before}def @main({params}) {{\n{body}\n}}\n"


def _graph(n: int, line: Callable[[int], str], params: str = f"%x: {T}", result: str | None = None) -> str:
    """`n` lines, the first of which may use `%0`, the graph's input."""
    lines = "".join(f"  %{i + 1} = {line(i)};\n" for i in range(n))
    return _main(params, f"  %0 = negative(%x);\n{lines}  {result or f'%{n}'}")


def chain(n: int) -> str:
    """Calls, each of the one before: all fuse."""
    return _graph(n, lambda i: f"tanh(%{i})")


def layers(n: int) -> str:
    """Calls that do not fuse, each of the one before."""
    return _graph(n, lambda i: f"nn.softmax(%{i})")


def diamonds(n: int) -> str:
    """Residual blocks: each value is used twice."""
    return _graph(n, lambda i: f"add(%{i}, %{max(i - 1, 0)})")


def fan(n: int) -> str:
    """Calls on one value, all of them results."""
    fields = ", ".join(f"%{i + 1}" for i in range(n))
    return _graph(n, lambda i: "tanh(%0)", result=f"({fields})")


def joined(n: int) -> str:
    """Calls on one value, joined by one operator."""
    fields = ", ".join(f"%{i + 1}" for i in range(n))
    return _graph(n, lambda i: "nn.softmax(%0)", result=f"concatenate(({fields}))")


def params(n: int) -> str:
    """Parameters, all added up."""
    names = [f"%x{i}: {T}" for i in range(n)]
    return _graph(n, lambda i: f"add(%{i}, %x{i})", params=", ".join([f"%x: {T}", *names]))


def constants(n: int) -> str:
    """Constants, all added up."""
    return _graph(n, lambda i: f"add(%{i}, {i}f)")


def lets(n: int) -> str:
    """`let`s, each of the one before."""
    body = "".join(f"  let %y{i + 1} = tanh(%y{i});\n" for i in range(n))
    return _main(f"%y0: {T}", f"{body}  %y{n}")


def let_values(n: int) -> str:
    """`let`s in the values of `let`s."""
    return _main(
        f"%y0: {T}",
        "".join(f"let %y{i + 1} = {{" for i in range(n))
        + "tanh(%y0)"
        + "".join(f"}}; tanh(%y{i})" for i in range(n, 0, -1)),
    )


def aliases(n: int) -> str:
    """`let`s that give a variable another name."""
    body = "".join(f"  let %y{i + 1} = %y{i};\n" for i in range(n))
    return _main(f"%y0: {T}", f"{body}  tanh(%y{n})")


def functions_in_functions(n: int) -> str:
    """Function literals in function literals."""
    return _main("", "  " + "fn () {" * n + "1" + "}" * n)


def closures(n: int) -> str:
    """Nested function literals, each called at once and using the variables around it."""
    inside = "".join(f"(fn (%y{i + 1}) {{ add(%y{i}, " for i in range(n))
    return _main(f"%y0: {T}", f"  {inside}%y{n}" + "".join(f") }})(%y{i})" for i in range(n - 1, -1, -1)))


def let_functions(n: int) -> str:
    """Local functions, each calling the one before."""
    first = f"  let %f0 = fn (%x: {T}) -> {T} {{ tanh(%x) }};\n"
    body = "".join(f"  let %f{i + 1} = fn (%x: {T}) -> {T} {{ tanh(%f{i}(%x)) }};\n" for i in range(n))
    return _main(f"%x: {T}", f"{first}{body}  %f{n}(%x)")


def functions(n: int) -> str:
    """Global functions, each calling the one before."""
    defs = "".join(f"def @f{i + 1}(%x: {T}) -> {T} {{ tanh(@f{i}(%x)) }}\n" for i in range(n))
    return _main(f"%x: {T}", f"  @f{n}(%x)", f"def @f0(%x: {T}) -> {T} {{ tanh(%x) }}\n{defs}")


def many_functions(n: int) -> str:
    """Global functions, each called by `@main` alone."""
    defs = "".join(f"def @f{i}(%x: {T}) -> {T} {{ tanh(%x) }}\n" for i in range(n))
    lines = "".join(f"  %{i + 1} = @f{i}(%{i});\n" for i in range(n))
    return _main(f"%x: {T}", f"  %0 = negative(%x);\n{lines}  %{n}", defs)


def untyped_functions(n: int) -> str:
    """Global functions without annotations, each calling the one before."""
    defs = "".join(f"def @f{i + 1}(%x) {{ tanh(@f{i}(%x)) }}\n" for i in range(n))
    return _main(f"%x: {T}", f"  @f{n}(%x)", f"def @f0(%x) {{ tanh(%x) }}\n{defs}")


def deep_tuples(n: int) -> str:
    """Tuples in tuples."""
    return _graph(n, lambda i: f"(%{i}, %x)")


def shared_tuples(n: int) -> str:
    """Tuples in tuples, each holding the one before twice."""
    return _graph(n, lambda i: f"(%{i}, %{i})")


def wide_tuple(n: int) -> str:
    """A tuple of many fields, all of them taken out and added up."""
    body = "".join(f"  %{2 * i + 1} = %p.{i};\n  %{2 * i + 2} = add(%{2 * i}, %{2 * i + 1});\n" for i in range(n))
    return _main(
        f"%x: {T}, %p: ({', '.join([T] * n)},)",
        f"  %0 = negative(%x);\n{body}  %{2 * n}",
    )


def split_parts(n: int) -> str:
    """A split into many parts, each of which a kernel of its own works on."""
    body = "".join(f"  %{2 * i + 1} = %0.{i};\n  %{2 * i + 2} = nn.softmax(%{2 * i + 1});\n" for i in range(n))
    fields = ", ".join(f"%{2 * i + 2}" for i in range(n))
    return _main(f"%x: Tensor[({n}, 4), float32]", f"  %0 = split(%x, indices_or_sections={n});\n{body}  ({fields},)")


def many_outputs(n: int) -> str:
    """Calls that do not fuse, each of the one before, all of them results."""
    return _graph(n, lambda i: f"nn.softmax(%{i})", result=f"({', '.join(f'%{i + 1}' for i in range(n))},)")


def swaps(n: int) -> str:
    """Pairs made of the fields of the pair before."""
    body = "".join(
        f"  %{3 * i + 1} = %{3 * i}.1;\n  %{3 * i + 2} = %{3 * i}.0;\n  %{3 * i + 3} = (%{3 * i + 1}, %{3 * i + 2});\n"
        for i in range(n)
    )
    return _main(f"%x: {T}, %y: {T}", f"  %0 = (%x, %y);\n{body}  %{3 * n}.0")


def branches(n: int) -> str:
    """`if` in `if`."""
    return _main(f"%x: {T}, %c: bool", "  " + "if (%c) { " * n + "%x" + " } else { tanh(%x) }" * n)


def ifs(n: int) -> str:
    """`if`s one behind the other."""
    body = "".join(f"  let %y{i + 1} = if (%c) {{ tanh(%y{i}) }} else {{ %y{i} }};\n" for i in range(n))
    return _main(f"%y0: {T}, %c: bool", f"{body}  %y{n}")


def conditions(n: int) -> str:
    """`if`s in the conditions of `if`s."""
    return _main("%c: bool", "  " + "if (" * n + "%c" + ") { %c } else { logical_not(%c) }" * n)


def matches(n: int) -> str:
    """`match` in the clauses of `match`."""
    inside = "".join(f"match? (%l{i}) {{ Cons(%h{i + 1}, %l{i + 1}) => " for i in range(n))
    return _main(f"%x: {T}, %l0: List[{T}]", f"  {inside}%x" + " }" * n, LIST)


def patterns(n: int) -> str:
    """One pattern in another, and so on."""
    return _main(
        f"%x: {T}, %l: List[{T}]",
        "  match? (%l) { " + "Cons(_, " * (n - 1) + "Cons(%h, _)" + ")" * (n - 1) + " => %h }",
        LIST,
    )


def clauses(n: int) -> str:
    """A `match` with many clauses."""
    type_text = "type Kind { " + ", ".join(f"K{i}" for i in range(n)) + " }\n"
    body = "".join(f"    K{i} => {'tanh' if i % 2 else 'exp'}(%x),\n" for i in range(n))
    return _main(f"%x: {T}, %k: Kind", f"  match (%k) {{\n{body}  }}", type_text)


def lists(n: int) -> str:
    """A list built element by element."""
    body = "".join(f"  %{i + 1} = Cons(%x, %{i});\n" for i in range(n))
    return _main(f"%x: {T}", f"  %0 = Nil;\n{body}  %{n}", LIST)


def references(n: int) -> str:
    """One reference, read and written again and again."""
    body = "".join(f"  let %y{i} = ref_read(%r);\n  let %u{i} = ref_write(%r, tanh(%y{i}));\n" for i in range(n))
    return _main(f"%x: {T}", f"  let %r = ref(%x);\n{body}  ref_read(%r)")


def polymorphic(n: int) -> str:
    """Polymorphic functions, each calling the one behind it."""
    defs = "".join(f"def @f{i}[A](%x: A) -> A {{ @f{i + 1}(%x) }}\n" for i in range(n))
    return _main(f"%x: {T}", "  @f0(%x)", f"{defs}def @f{n}[A](%x: A) -> A {{ %x }}\n")


def polymorphic_upwards(n: int) -> str:
    """Polymorphic functions, each calling the one before."""
    defs = "".join(f"def @f{i + 1}[A](%x: A) -> A {{ @f{i}(%x) }}\n" for i in range(n))
    return _main(f"%x: {T}", f"  @f{n}(%x)", f"def @f0[A](%x: A) -> A {{ %x }}\n{defs}")


def higher_order(n: int) -> str:
    """Polymorphic functions that hand a function on, which the last one calls."""
    defs = (
        "".join(f"def @f{i}[A, B](%g: fn (A) -> B, %x: A) -> B {{ @f{i + 1}(%g, %x) }}\n" for i in range(n))
        + f"def @f{n}[A, B](%g: fn (A) -> B, %x: A) -> B {{ %g(%x) }}\n"
    )
    return _main(f"%x: {T}", f"  @f0(fn (%y: {T}) -> {T} {{ tanh(%y) }}, %x)", defs)


def mutual(n: int) -> str:
    """Functions in a ring, each calling the next one while a number is positive."""
    return _ring(n, "{}")


def mutual_values(n: int) -> str:
    """The same, with work left to do after each call: no loop comes of it."""
    return _ring(n, "add(%x, {})")


def _ring(n: int, turn: str) -> str:
    """`turn`: what a function does with its call of the next one, which stands where the braces are."""
    defs = "".join(
        f"def @f{i}(%k: int32, %x: {T}) -> {T} {{\n"
        f"  if (less(%k, 1)) {{ %x }} else {{ {turn.format(f'@f{(i + 1) % n}(subtract(%k, 1), tanh(%x))')} }}\n}}\n"
        for i in range(n)
    )
    return _main(f"%k: int32, %x: {T}", "  @f0(%k, %x)", defs)


def constructors(n: int) -> str:
    """Constructors with fields, and values of all of them."""
    type_text = "type Kind[A] { " + ", ".join(f"K{i}(A, Kind[A])" for i in range(n)) + ", Last }\n"
    body = "".join(f"    K{i}(%a{i}, _) => %a{i},\n" for i in range(n))
    return _main(f"%x: {T}, %k: Kind[{T}]", f"  match (%k) {{\n{body}    Last => %x\n  }}", type_text)


def columns(n: int) -> str:
    """A `match` on a tuple of two, with a clause for each pair of equal constructors."""
    type_text = "type Kind { " + ", ".join(f"K{i}" for i in range(n)) + " }\n"
    body = "".join(f"    (K{i}, K{i}) => tanh(%x),\n" for i in range(n))
    return _main(f"%x: {T}, %k: (Kind, Kind)", f"  match (%k) {{\n{body}    _ => %x\n  }}", type_text)


def composed(n: int) -> str:
    """Closures, each calling the one that it holds."""
    compose = f"def @compose(%f: fn ({T}) -> {T}) -> fn ({T}) -> {T} {{ fn (%y: {T}) -> {T} {{ tanh(%f(%y)) }} }}\n"
    body = "".join(f"  let %c{i + 1} = @compose(%c{i});\n" for i in range(n))
    return _main(f"%x: {T}", f"  let %c0 = fn (%y: {T}) -> {T} {{ exp(%y) }};\n{body}  %c{n}(%x)", compose)


def composed_memory(n: int) -> str:
    """Closures, each calling the one that it holds; the first uses a tensor, which all of them need."""
    return composed(n).replace("exp(%y)", "add(%y, %x)")


def wide_calls(n: int) -> str:
    """A function with many parameters that calls another one with all of them."""
    names = [f"%x{i}" for i in range(n)]
    typed = ", ".join(f"{x}: {T}" for x in names)
    total = "".join(f"  %{i + 1} = add(%{i}, %x{i});\n" for i in range(n))
    callee = f"def @f({typed}) -> {T} {{\n  %0 = negative(%x0);\n{total}  %{n}\n}}\n"
    return _main(typed, f"  @f({', '.join(names)})", callee)


def type_params(n: int) -> str:
    """A function with many type parameters."""
    typed = ", ".join(f"%x{i}: A{i}" for i in range(n))
    callee = f"def @f[{', '.join(f'A{i}' for i in range(n))}]({typed}) -> A0 {{ %x0 }}\n"
    return _main(f"%x: {T}", f"  @f({', '.join(['%x'] * n)})", callee)


def wide_results(n: int) -> str:
    """A function whose result is a tuple of many fields, taken apart by its caller."""
    callee = f"def @f(%x: {T}) {{\n  %0 = nn.softmax(%x);\n  ({', '.join(['%0'] * n)},)\n}}\n"
    body = "".join(f"  %{2 * i + 2} = %0.{i};\n  %{2 * i + 3} = add(%{2 * i + 1}, %{2 * i + 2});\n" for i in range(n))
    return _main(f"%x: {T}", f"  %0 = @f(%x);\n  %1 = negative(%x);\n{body}  %{2 * n + 1}", callee)


def same_constants(n: int) -> str:
    """Functions that all use the same constants."""
    sums = "".join(f"  %{i + 1} = add(%{i}, {i}f);\n" for i in range(4))
    defs = "".join(f"def @f{i}(%x: {T}) -> {T} {{\n  %0 = tanh(%x);\n{sums}  %4\n}}\n" for i in range(n))
    lines = "".join(f"  %{i + 1} = @f{i}(%{i});\n" for i in range(n))
    return _main(f"%x: {T}", f"  %0 = negative(%x);\n{lines}  %{n}", defs)


SHAPES: tuple[Shape, ...] = tuple(
    f for name, f in list(globals().items()) if name[0].islower() and getattr(f, "__module__", "") == __name__
)
"""Every function above; functions added here are measured."""

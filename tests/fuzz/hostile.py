"""Words that are hard to take: corners of numbers, dtypes, shapes and attributes, pieces of every construct, odd characters."""

from __future__ import annotations


def _listed(text: str, apart: str = " | ") -> tuple[str, ...]:
    return tuple(part for line in text.strip("\n").split("\n") for part in line.split(apart))


NUMBERS = _listed(
    """
0 1 -1 2 3 -2 7 1.5 0f -0f nan nanf inf -inff inff64 1e999 1e-45f 2147483647 2147483648 -2147483648
-2147483649 4294967296 65536 9223372036854775807 -9223372036854775808 9223372036854775808
99999999999999999999 1i64 -1i64 3i16 40000i16 1i8 0x10 1_000 00 1. .5 1e5 3.4e38f 1f16 70000f16 1f64 \u0663
1\u0663 \xb2
""",
    " ",
)

DTYPES = _listed(
    """
bool int1 int4 int8 int16 int32 int64 uint1 uint4 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16
float8 float7 int256 float32x4 int8x0 uint0 handle custom[posites2]32 int3\u0663 int float _ void e4m3_float8
boolx4 float32x99999
""",
    " ",
)

SHAPES = _listed(
    """
() | (0) | (0, 2) | (1,) | (?, 2) | (-3, 2) | (-1) | (1.5, 2) | (nan, 1) | (2147483647, 3) | (4294967296)
(9223372036854775807, 2) | (meta[tir.Var][0], 2) | (n, 2) | (2i64) | (1, 1, 1, 1, 1, 1, 1, 1) | (65536, 65536)
(True)
"""
)

ATTRIBUTES = _listed(
    """
[] | () | [[]] | [[1], 2] | {} | {"a"=1} | "" | "x" | "float32" | "int3\u0663" | "NCHW" | "NCHW4c" | "NHWC"
"\\ud800" | "\\xff" | None | nullptr | True | False | [-1] | [1, 1] | [0, 0, 0, 0] | [2147483647] | [1.5f]
["a"] | [None] | %x | @main | VirtualDevice(device_type=1) | VirtualDevice() | Target() | Target(kind='llvm')
Thing(1, b=2) | meta[relay.Constant][0] | meta[tir.Var][0] | meta[VirtualDevice][0] | add | 1f | -1 | 0 | inf
9223372036854775807 | [0, 1, 2, 3, 4, 5, 6, 7, 8]
"""
)

PIECES = _listed(
    """
%0 | %x | @main | () | (%x,) | (%x, %x) | %x.0 | %0.1 | ref(%x) | ref_read(%x) | ref_write(%x, %x)
fn () { 1 } | fn (%x) { %x } | fn [T](%x: T) -> T { %x } | if (%x) { %x } else { 1 } | match (%x) { _ => %x }
let %x = 1; %x | meta[relay.Constant][0] | True | 1f | -1 | nanf | add | less_equal | add(%x, %x) | Nil
Cons(1, Nil) | zeros(shape=[2], dtype="float32") | _ | None | < | > | == | -> | => | ; | { | } | ( | ) | [ | ]
, | : | ? | .0 | #[version = "0.0.5"] | #[metadata] | /* | */ | // | " | free_var %x; | def @main() { 1 }
extern def @f: fn () -> () | type T | type L[A] { C(A, L[A]), N, } | /* ty=int32 */ | Primitive=1
virtual_device=VirtualDevice(device_type=1) | Storage[] | List[int32] | fn (int32) -> bool | ref(int32)
(int32, bool) | Tensor[(2), int4]
"""
)

JSON_VALUES = _listed(
    """
0 | 1 | 2 | 3 | -1 | 99 | "0" | "1" | "2" | "3" | "-1" | "99999999999" | null | true | {} | [] | "" | "x"
"\\ud800" | Infinity | 1e999 | NaN | 1.5 | "1.5" | "nan" | "int32" | "float7" | ["0"] | {"a": "1"}
"runtime.String" | "Array" | "Map" | "relay.Constant" | "tir.Var" | "VirtualDevice" | "IntImm" | "relay.Var"
"DictAttrs" | "AAAA" | "\u0663"
"""
)

NESTS = tuple(
    tuple(part.split("~"))
    for part in _listed(
        """
(~) | (~,) | [~] | {~} | { ~ } | -~ | fn () { ~ } | (%x, ~) | ref(~) | if (True) { ~ } else { 1 }
match (%x) { _ => ~ } | let %x = ~; %x | exp(~) | Tensor[(~), int8] | fn () -> ~ | List[~] | {'a'=~}
Cons(~, Nil) | @main(~) | /* ~ */ | ~.0 | ~()
"""
    )
)

CHARACTERS = (
    *"(){}[]<>,;:=%@#\"'\\/*.-+?_ \n\t\r\f019aAz\x00\x7f\xe9\xdf\u0663\xb2\u2028\u3000\ufeff\ud800\udcff\U0001f600\U0010ffff",
    *("\\u0041", "\\x41"),
)

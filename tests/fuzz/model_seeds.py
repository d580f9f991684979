"""Small ONNX models that are mutated: those below, and for long runs those of the backend suite of the `onnx` package."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.fuzz.microsoft_seeds import microsoft_seeds

HEAD = '<ir_version: 8, opset_import: ["": 17, "own": 1]>\n'
TEXTS = (
    """
net (float[N, 4] x) => (float[M, 2, 2] y) <float[4, 4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, float[4] b = {1,2,3,4}> {
  g = Gemm <alpha = 0.5, transB = 1> (x, w, b)
  a = Relu(g)
  s = Shape(a)
  zero = Constant <value = int64[1] {0}> ()
  n = Gather <axis = 0> (s, zero)
  two = Constant <value_ints = [2, 2]> ()
  shape = Concat <axis = 0> (n, two)
  y = Reshape(a, shape)
}
""",
    """
net (float[1, 2, 6, 6] x) => (float[1, 3, 2, 2] y, float[1, 3] z)
<float[3, 2, 1, 1] w = {1, 2, 3, 4, 5, 6}, float[3] scale = {1, 1, 1}, float[3] shift = {0, 0, 0}> {
  c = Conv <kernel_shape = [1, 1], strides = [1, 1], pads = [1, 1, 1, 1], group = 1> (x, w, shift)
  n = BatchNormalization <epsilon = 0.001> (c, scale, shift, shift, scale)
  p = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (n)
  q = AveragePool <kernel_shape = [2, 2], auto_pad = "SAME_UPPER"> (p)
  y = Slice(q, st, en)
  g = GlobalAveragePool(y)
  z = Flatten(g)
  st = Constant <value_ints = [0, 0, 0, 0]> ()
  en = Constant <value_ints = [9, 9, 2, 2]> ()
}
""",
    """
net (float[2, 3] x, bool c) => (float[2, 3] y, float[K, 2, 3] z) {
  n = Constant <value = int64 {3}> ()
  t = Constant <value = bool {1}> ()
  y = If (c) <then_branch = a () => (float[2, 3] o) { o = Tanh(x) },
              else_branch = b () => (float[2, 3] o) { o = Neg(x) }>
  l, z = Loop (n, t, x) <body = l (int64 i, bool k, float[2, 3] v) => (bool kk, float[2, 3] w, float[2, 3] s) {
    kk = Identity(k)
    w = Add(v, x)
    s = Identity(w)
  }>
}
""",
    """
net (float[3, 4] x) => (float[3, 4] y) {
  a = own.twice(x)
  y = own.four <axis = 1> (a)
}
<domain: "own", opset_import: ["": 17]>
twice (x) => (y) { y = Add(x, x) }
<domain: "own", opset_import: ["": 17, "own": 1]>
four <axis> (x) => (y) {
  t = own.twice(x)
  s = Softmax <axis: int = @axis> (t)
  y = own.twice(s)
}
""",
    """
net (float[2, 5, 4] x, int64[3] i) => (float[2, 4, 3] y, float[2, 5, 2] r, float[2, 5, 1] m, int64[2, 5] k) {
  t = Transpose <perm = [0, 2, 1]> (x)
  y = Gather <axis = 2> (t, i)
  a, r = Split <axis = 2> (x)
  ax = Constant <value_ints = [2]> ()
  u = Unsqueeze(k, ax)
  f = Cast <to = 1> (u)
  m = Add(f, e)
  e = ReduceMean <axes = [2], keepdims = 1> (x)
  k = ArgMax <axis = 2, keepdims = 0> (x)
}
""",
    """
net (float[1, 4] x) => (float[1, 4] y, uint8[1, 4] q)
<float s = {0.1}, uint8 z = {128}> {
  q = QuantizeLinear(x, s, z)
  y = DequantizeLinear(q, s, z)
}
""",
    """
net (float[3, 2, 4] x, float[1, 20, 4] w, float[1, 20, 5] r) => (float[3, 1, 2, 5] y, float[3, 2, 6] p)
<float pad = {0}> {
  y, h, c = LSTM <hidden_size = 5, direction = "forward"> (x, w, r)
  to = Constant <value_ints = [0, 0, 1, 0, 0, 1]> ()
  p = Pad <mode = "constant"> (x, to, pad)
}
""",
    """
net (float[1, 1, 4, 4] x) => (float[1, 1, 4, 4] y, float[4, 3] e, int64[4] n)
<float low = {-1}> {
  y = Clip(x, low, )
  sh = Constant <value_ints = [4, 3]> ()
  one = ConstantOfShape <value = float[1] {1}> (sh)
  e = Expand(one, sh)
  from = Constant <value = int64 {0}> ()
  to = Constant <value = int64 {8}> ()
  by = Constant <value = int64 {2}> ()
  n = Range(from, to, by)
}
""",
    """
net (float[2, 3] x, float[N] p, float16[2, 4] lp) => (float[2, 3] y, float[5] u, int32[N] b, int64[2, 6] m, float[N] z) {
  y = RandomNormalLike <mean = 1.0, scale = 2.0, seed = 3.0> (x)
  u = RandomUniform <low = -1.0, high = 1.0, shape = [5], dtype = 1> ()
  b = Bernoulli <dtype = 6, seed = 0.5> (p)
  m = Multinomial <dtype = 7, sample_size = 6> (lp)
  z = RandomUniformLike(p)
}
""",
    """
net (float[1, 8, 4] b, float[8] s, float[1, 2, 5, 7] image, int64[2] size) => (int64[n, 3] y, float[1, 2, h, w] r) {
  limit = Constant <value = float[1] {-0.3}> ()
  chosen = Greater(s, limit)
  at = NonZero(chosen)
  first = Constant <value_ints = [0]> ()
  two = Constant <value_ints = [2]> ()
  places = Squeeze(at, first)
  boxes = Gather <axis = 1> (b, places)
  kept = Gather(s, places)
  axes = Constant <value_ints = [0, 1]> ()
  scores = Unsqueeze(kept, axes)
  most = Constant <value = int64[1] {5}> ()
  y = NonMaxSuppression(boxes, scores, most)
  shape = Shape(image)
  front = Slice(shape, first, two)
  all = Concat <axis = 0> (front, size)
  r = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (image, , , all)
}
""",
)


@cache
def seeds() -> tuple[bytes, ...]:
    """The models, in bytes."""
    import onnx

    return tuple(onnx.parser.parse_model(HEAD + text.lstrip()).SerializeToString() for text in TEXTS)


@cache
def wide_seeds() -> tuple[bytes, ...]:
    """These, those of operators of ONNX Runtime, and those of the backend suite."""
    from onnx.backend.test.loader import load_model_tests

    models: list[Any] = []
    for kind in ("node", "simple"):
        for case in load_model_tests(kind=kind):
            model = case.model
            if model is None:
                with open(f"{case.model_dir}/model.onnx", "rb") as file:
                    models.append(file.read())
            else:
                models.append(model.SerializeToString())
    return (*seeds(), *microsoft_seeds(), *(m for m in models if len(m) < 1 << 16))

"""Recognition of groups of operators that exporters write for one operator.

powers       power(x, 2) ⇒ multiply(x, x); 1 / sqrt(x) ⇒ rsqrt(x)
layer_norm   mean, subtract, square, mean, add, sqrt, divide, multiply, add ⇒ nn.layer_norm
group_norm   reshape, nn.instance_norm, reshape, multiply, add ⇒ nn.group_norm
gelu         x * (1 + erf(x / sqrt(2))) * 0.5 ⇒ the form of the operator Gelu

Each module has functions that give rules of the dataflow-pattern language. Attention stays in its parts: the kernels for these
are those that an operator of its own would be made of.
"""

from .recogniser import recognised

__all__ = ["recognised"]

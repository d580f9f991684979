"""Maps whose operand or result is transposed: squares of elements in registers."""

"""Bodies of vectorized loops as a small IR, which each backend prints in its language.

types       vectors, and the types of arithmetic for dtypes
ir          the values and steps of a body
nest        a whole nest, with bodies in place of loops over lanes, copies of squares and products of matrices
lower       the stores of one loop as a body
rewrite     rewrites of a body after lowering, by the rules in `peepholes`
rows        consecutive loops as one body, which reads each operand once
squares     copies that exchange rows and columns
matrices    sums by instructions for products of matrices
"""

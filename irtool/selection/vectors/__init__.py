"""Bodies of vectorized loops as a small IR, which each backend prints in its own words.

types       vectors, and the type in which a dtype is computed
ir          the values and steps of a body
nest        a whole nest, with bodies in place of loops over lanes, copies of squares and products of matrices
lower       the stores of one loop as a body
rewrite     rewrites of a body after lowering, by the rules in `peepholes`
rows        loops one behind the other as one body, which reads everything once
squares     copies that exchange rows and columns
matrices    sums that instructions for products of matrices make
"""

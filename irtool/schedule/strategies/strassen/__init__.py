"""Products of matrices by Strassen's algorithm: seven products of halves in place of eight.

stage      the stage of the pipeline: replaces products of a program, and derives their weights
product    a reduction ⇒ a product of data with constant weights, 1 x 1 convolutions among them
algorithm  the seven products, as matrices
choice     the choice by estimated cycles, with the rows and columns at a time (`tiling`)
weights    weights ⇒ sums of their quarters, in the order in which products read them
nest       a product ⇒ its loops
form       the transformed stage
"""

"""Products of matrices by Strassen's algorithm: seven products of halves in place of eight.

stage      the stage of the pipeline: which products of a program are made so, and their weights
product    a reduction                     ⇒ a product of data with constant weights, 1 x 1 convolutions among them
algorithm  the seven products, as matrices
choice     whether it pays, and how many rows and columns are taken at a time (`tiling`)
weights    weights                         ⇒ sums of their quarters, in the order in which products read them
nest       a product                       ⇒ its loops
form       the transformed stage
"""

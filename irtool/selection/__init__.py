"""Selection of instructions: the nests of kernels, scheduled, as back ends print them. It sees loop nests, and nothing of their languages.

kernel         the nest of one kernel in vectors, or in scalars, by the forms that a back end has
nests          elements at one offset, unrolled loops written out, expressions in order of evaluation
vectors        bodies of vectorized loops as a small IR, and the rewrites of nests and bodies to it
teams          parts of a nest for the threads of a team, and barriers between them
regions        loops that are parallel regions of their own, where no team runs
in_place       copies that are left out where both buffers are the same memory
tiles          blocks of sums in matrix tiles, and where their registers are configured
runs           sums of products of long words that lie one after the other
narrow_scopes  arrays declared in the innermost loop that they live in
streams        fences behind stores past the caches
scalars        operations that need a support function or rounding
text           the nest that is printed, in plain text
moves          stores that move an element and compute nothing
"""

"""Selection of instructions: the scheduled nests of kernels in the forms that back ends print. It sees loop nests, not the back
ends' languages.

kernel         the nest of one kernel in vectors, or in scalars, in the forms of a back end
nests          elements at one offset, unrolled loops expanded, expressions in order of evaluation
vectors        bodies of vectorized loops as a small IR, and the rewrites of nests and bodies to it
teams          parts of a nest for the threads of a team, and barriers between them
regions        loops that are parallel regions of their own, in programs without a team
in_place       copies that are skipped if both buffers are the same memory
tiles          blocks of sums in matrix tiles, and the configuration of their registers
runs           sums of products of contiguous long words
narrow_scopes  arrays declared in the innermost loop that uses them
streams        fences behind stores past the caches
scalars        operations that need a support function or rounding
text           the printed nest as plain text
moves          stores that copy an element unchanged
"""

"""Products of a softmax of products, a tile of rows at a time: attention.

find               the kernels of a program that are one attention
chain              the stages of these kernels
transpose_results  an attention whose values come first, as one whose values come second
form               the attention as one stage of a kernel, and the plans for it
tiling             the rows of a tile (`height` ranks their numbers), and the keys of a panel
tiled              the stages for a tile of rows
panels             the columns of scores, and keys, in panels
softmax            the stages of a softmax
nest               the loops around a tile, and the places of the stages in it
"""

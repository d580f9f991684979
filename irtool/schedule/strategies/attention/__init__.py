"""Products of a softmax of products, a tile of rows at a time: attention.

find     the kernels of a program that are one attention
chain    the stages of these kernels
turned   an attention whose values come first, as one whose values come second
form     the attention as one stage of a kernel, and the plans for it
tiling   how many rows are a tile (`height` ranks these numbers), in panels of how many keys
tiled    the stages for a tile of rows
panels   the columns of scores, and keys, in panels
softmax  which stages a softmax is
nest     the loops around a tile, and the places of the stages in it
"""

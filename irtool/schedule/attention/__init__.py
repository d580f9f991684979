"""Products of a softmax of products, a tile of rows at a time: attention.

find     the kernels of a program that are one attention
form     a chain of kernels as one stage, of which the strategy `attention` makes loops
tiled    what they compute, for a tile of rows
height   how many rows are a tile
panels   the columns of scores, and keys, in panels
softmax  which stages a softmax is
nest     the loops around a tile, and the stages in it
"""

from .find import fuse_attention

__all__ = ["fuse_attention"]

"""Products of a softmax of products, a tile of rows at a time: attention.

find     the kernels of a program that are one attention
tiled    what they compute, for a tile of rows
nest     the loops around a tile, and the stages in it
"""

from .find import fuse_attention

__all__ = ["fuse_attention"]

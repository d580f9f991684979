"""Convolutions by Winograd's algorithm.

stage        the stage of the pipeline: transforms convolutions of a program, and derives their weights
find         a reduction ⇒ a `convolution` with windows, maybe of several parts, and slices for depth, along its `axes`
plans        the tiles and channels at a time (`tiling`); `cost.winograd` compares their cycles
cook_toom    interpolation points ⇒ the matrices of the transforms
weights      weights ⇒ transformed weights, in the order in which products read them
nest         a convolution ⇒ its loops: `windows` transforms its data, each window for the tile at a `tile_place`
form         the transformed stage
"""

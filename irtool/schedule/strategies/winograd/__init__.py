"""Convolutions by Winograd's algorithm.

stage        the stage of the pipeline: which convolutions of a program are transformed, and their weights
find         a reduction                     ⇒ a `convolution` with windows, maybe of several parts, and slices for depth, along its `axes`
plans        how many tiles and channels are taken at a time (`tiling`); `cost.winograd` says whether that pays
cook_toom    interpolation points            ⇒ the matrices of the transforms
weights      weights                         ⇒ transformed weights, in the order in which products read them
nest         a convolution                   ⇒ its loops: `windows` are those that transform its data, each for the tile at a `tile_place`
form         the transformed stage
"""

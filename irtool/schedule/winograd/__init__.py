"""Convolutions by Winograd's algorithm.

stage        the stage of the pipeline: which convolutions of a program are transformed, and their weights
convolution  a reduction                     ⇒ a convolution with 3 x 3 windows, without the padded copy before it
choice       whether it pays, and how many tiles and channels are taken at a time (`tiling`)
cook_toom    interpolation points            ⇒ the matrices of the transforms
weights      weights                         ⇒ transformed weights, in the order in which products read them
nest         a convolution                   ⇒ its loops
form         what becomes of the stage
"""

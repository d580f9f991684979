"""Dot-product and matrix-tile instructions: the sums that they compute, and the packing of their operands.

dot_kinds             operand types, numbers per word and lanes of each instruction
tensorize             sums of products ⇒ sums of words
narrow_weights        constant weights for instructions whose sums of two products have 16 bits
signedness_shift      operands shifted by 128 for instructions that multiply unsigned by signed bytes
store_shifted_bytes   the shift moved to the producer of the operand
elide_packing         operands whose memory order is that of words already
matrix_tiles          sums of words in matrix tiles: axes and cycles
"""

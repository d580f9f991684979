"""Layouts of temporaries and weights, so that kernels read and write whole vectors.

stage           the stage of the pipeline: a layout for each slot, and a variant of each kernel for the layouts of its operands
preference      a choice: blocks along an axis
choice          a kernel ⇒ the layouts that it prefers for its operands: its `vector_axis`, and axes that blocks do not divide
                (`whole_vectors`)
propagation     layouts of operands ⇒ those of results, and their effect on readers
constants       layouts of data, results ⇒ those of constants, which are `packed` when the program is built
scaled_weights  weights that the program computes from constants
shared_weights  weights that other kernels read a few elements of
variants        a kernel and layouts ⇒ the kernel with its buffers in them
"""

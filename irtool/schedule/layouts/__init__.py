"""Layouts of temporaries and weights, so that kernels read and write whole vectors.

stage           the stage of the pipeline: a layout for each slot, and for each kernel a variant for the layouts that it meets
preference      a choice: blocks along an axis
choice          a kernel                    ⇒ the layouts that it would like its operands to have: which loop is its `vector_axis`,
                                              and what becomes of axes that blocks do not divide (`whole_vectors`)
propagation     layouts of operands         ⇒ those of results, and whether readers can do with them
constants       layouts of data, results    ⇒ those of constants, which are `packed` when the program is built
scaled_weights  weights that are made of constants when the program runs
shared_weights  weights that others read a little of
variants        a kernel and layouts        ⇒ the kernel with its buffers in them
"""

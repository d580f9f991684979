"""Sliding windows and padding: ways to split a reduction's domain where its indices change form.

slice_domain                a range of the steps of a form's loops
partition_padded_windows    dilated windows ⇒ parts whose steps are inside of the data
degenerate_loops            window loops of a single step inside the data ⇒ no loop
peel_windows                windows of different sizes ⇒ one reduction each
padded_copy                 a reduction of a padded copy ⇒ of its source, with guards
bands                       a padded copy for some rows of its reader at a time (`divisors`: heights without a tail)
phases                      strided transposed convolutions ⇒ a reduction for each phase
separable                   rows of windows combined before columns
sliding                     registers shared by neighbouring windows of a row
"""

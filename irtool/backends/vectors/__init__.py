"""Bodies of vectorized loops as a small IR, which each backend prints in its own words.

types   what a vector is, and in what type a dtype is computed
ir      the values and steps of a body
lower   from the stores of a loop nest to that
"""

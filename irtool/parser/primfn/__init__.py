"""`primfn(…) … }` to loop nests.

tokens        tokens of a primfn, with their places
names         the names before the printer made them unique
attributes    `attr = {…}`
header        parameters, `buffers`, `buffer_map`, `preflattened_buffer_map`
expressions   one expression
constants     constants in the body
statements    the body
function      all of it, verified
"""

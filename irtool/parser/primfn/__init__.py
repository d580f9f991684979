"""`primfn(…) … }` to loop nests.

tokens        tokens of a primfn, with their places
names         what a name in the text was before the printer made it unique
attributes    `attr = {…}`
header        parameters, `buffers`, `buffer_map`, `preflattened_buffer_map`
expressions   one expression
constants     constants in the body
statements    the body
function      all of it, verified
"""

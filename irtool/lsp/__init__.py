"""Answers to an editor's requests while somebody writes Relay text.

analysis     a text read and typed: symbols, types by place, everything that is wrong
hover        facts of a place: a type, a signature, the manual of an operator
completion   candidates at a place
renaming     a name changed everywhere it stands, if the text means the same afterwards
hints        types of bindings that do not say theirs
outline      functions and types with their definitions
lines        offsets as lines and columns
start        the server on standard streams
server       the Language Server Protocol (package pygls): the only module that knows of clients and messages

Places are offsets in characters in all modules but `lines` and `server`.
"""

"""The numbers that entry points return for runs that end with an error; 0 is a run without one. Each is another number."""

WORKSPACE_ERROR = 1
"""The workspace is too small."""

WEIGHTS_ERROR = 2
"""The weights are not set."""

WEIGHTS_FILE_ERROR = 3
"""The weights file cannot be opened or read."""

LENGTH_ERROR = 4
"""A length is outside of its bounds."""

BRANCH_ERROR = 5
"""A branch is taken that is impossible with the program's shapes."""

VALUE_ERROR = 6
"""A value decides an extent that is outside of its bounds."""

OTHER_STATE_ERROR = 7
"""Bytes are no saved state of the network."""

UNEQUAL_ERROR = 8
"""Lengths that the network needs to be equal are not."""

REGION_ERROR = 10
"""Values and recursion do not fit in the region."""

MATCH_ERROR = 11
"""No clause of a match fits."""

OTHER_VALUES_ERROR = 12
"""Bytes are no values of the types of the parameters."""

VALUES_FULL_ERROR = 13
"""Results do not fit in the caller's memory for values."""

STATE_FULL_ERROR = 14
"""The states of an instance have no room for the step."""

ELEMENTS_ERROR = 15
"""A result needs elements of an axis that has too few."""

TOKEN_ERROR = 16
"""A token is outside of the vocabulary."""

"""The error of a type rule that refuses its arguments."""


class RelationError(Exception):
    """Raised by a type rule that refuses its arguments; inference adds the place and the types."""

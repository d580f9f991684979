"""The numbers of errors of entry points."""

from irtool.backends.library import ERRORS
from irtool.tir import errors


def test_each_error_has_a_number_and_a_text_of_its_own() -> None:
    numbers = [value for name, value in vars(errors).items() if name.endswith("_ERROR")]
    assert len(numbers) == len(set(numbers))
    assert sorted(ERRORS) == sorted(numbers)
    assert len(set(ERRORS.values())) == len(numbers)

"""Operators for whose values or effects Relay has no form."""

from __future__ import annotations

from typing import ClassVar

from ..operator import TfliteOperator, tflite_operator


@tflite_operator("HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT", "HASHTABLE_SIZE", "HASHTABLE_LOOKUP")
class HashTable(TfliteOperator):
    """Tables from strings or integers to others."""

    refusal: ClassVar[str] = "Relay has no tables with keys"


@tflite_operator("SKIP_GRAM", "LSH_PROJECTION", "CONCAT_EMBEDDINGS")
class Strings(TfliteOperator):
    """Parts of sentences, and hashes of them."""

    refusal: ClassVar[str] = "Relay has no strings, and no hashes of them"


@tflite_operator("RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM", "MULTINOMIAL", "STABLEHLO_RNG_BIT_GENERATOR")
class RandomNumbers(TfliteOperator):
    """Random numbers, others in every run."""

    refusal: ClassVar[str] = "its numbers differ from run to run: make noise an input of the model"


@tflite_operator("RFFT2D", "REAL", "IMAG", "COMPLEX_ABS")
class Complex(TfliteOperator):
    """Complex numbers."""

    refusal: ClassVar[str] = "Relay has no complex numbers"


@tflite_operator("DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES")
class NoOperator(TfliteOperator):
    """Numbers of the schema that stand for no operator."""

    refusal: ClassVar[str] = "the schema has this number for no operator"

"""Tiles fit the registers, with what a step broadcasts."""

from itertools import product

import pytest

from irtool.schedule.tiles import choose_tile
from irtool.tir.vector_target import VectorTarget

SSE, AVX2, AVX512, NEON = VectorTarget(16, 16), VectorTarget(32, 16), VectorTarget(64, 32), VectorTarget(16, 32)


@pytest.mark.parametrize("machine", [SSE, AVX2, AVX512, NEON])
def test_accumulators_fit_the_registers(machine):
    for rows, vectors in product((1, 2, 7, 14, 28, 49, 56, 128, 3136), (1, 2, 3, 4, 8, 32)):
        tile = choose_tile(rows, vectors, machine)
        assert tile.points + tile.vectors <= machine.registers
        assert tile.rows <= rows and tile.vectors <= vectors


@pytest.mark.parametrize("machine", [AVX2, NEON])
def test_what_is_broadcast_has_registers_too(machine):
    for rows, vectors in product((56, 128, 3136), (1, 2, 4, 8, 32)):
        tile = choose_tile(rows, vectors, machine)
        assert tile.points + tile.rows <= machine.registers
        assert tile.points >= 6, "enough sums to hide a multiply-add's latency"


def test_many_rows_of_one_vector_would_spill():
    assert choose_tile(128, 1, AVX512).rows <= 18


def test_a_tile_stays_in_its_block():
    assert choose_tile(56, 6, AVX512, block=4).vectors in (1, 2, 4)

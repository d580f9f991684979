"""The Threefry counter-based random number generator, with splitting, over uint64 words.

A generator is ten words: 0-3 the key, 4-5 the path of splits, 6-7 the counter (of which word 7 counts), 8-9 one bit that
marks the next step of the path. Numbers are the Threefry hash of (path, counter) under the key. When the path is full,
the hash of the state becomes a new key.

Threefry: J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Its key schedule and rotations:
N. Ferguson et al., "The Skein hash function family", 2010. Splitting: K. Claessen, M. Palka, "Splittable pseudorandom
number generators using cryptographic hashing", Haskell 2013, encoding e4.

Every function is written over `Words`, lists of eight-byte values that are numpy arrays or te expressions alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..deferred import np

STATE = 10
"""Words of a generator's state."""

_WORDS = 4
_ROUNDS = 20
_PARITY = 0x1BD11BDAA9FC1A22
_ROTATIONS = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
_PERMUTATION = (0, 3, 2, 1)
ALL_ONES = 2**64 - 1

Words = Sequence[Any]


def first_state(seed: int) -> np.ndarray:
    """The generator of a seed of at most 256 bits, as TVM's `threefry_key` makes it: no path, and counted from 0."""
    words = [seed >> 64 * n & ALL_ONES for n in range(_WORDS)]
    return np.array([*words, 0, 0, 0, 0, 1 << 63, 0], "uint64")


def hash_words(key: Words, counter: Words, constant: Any, bind: Any = lambda e: e) -> list[Any]:
    """Threefry of 20 rounds: four words from four words of key and four of counter.

    `constant(n)` makes a uint64; `bind(e)` gives a value a name where expressions would grow too large otherwise.
    """
    parity = constant(_PARITY)
    for word in key:
        parity = parity ^ word
    schedule = [*key, bind(parity)]
    state = list(counter)
    for group in range(_ROUNDS // 4):
        for j in range(_WORDS):
            injected = schedule[(group + j) % (_WORDS + 1)]
            state[j] = state[j] + (injected + constant(group) if j == _WORDS - 1 else injected)
        for step in range(4):
            for j, by in enumerate(_ROTATIONS[(group * 4 + step) % 8]):
                a, b = state[2 * j], state[2 * j + 1]
                total = bind(a + b)
                state[2 * j] = total
                state[2 * j + 1] = bind(total ^ ((b << constant(by)) | (b >> constant(64 - by))))
            state = [state[p] for p in _PERMUTATION]
    return state


def _hash(key: np.ndarray, counter: np.ndarray) -> np.ndarray:
    """The hash of each row of counters, shape (n, 4)."""
    with np.errstate(over="ignore"):
        return np.stack(hash_words(list(key), list(counter.T), np.uint64), axis=-1)


def _advance(high: int, low: int) -> tuple[int, int]:
    """The marker of the path's next step, one place further right across both words."""
    if high == 1:
        return 0, 1 << 63
    return (0, low >> 1) if high == 0 else (high >> 1, 0)


def _words(values: Sequence[int]) -> np.ndarray:
    return np.array([int(v) for v in values], "uint64")


def generate(gen: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The generator to use next, and `count` random words.

    Block `i` of four words is the hash with `i` added to each word of path and counter; the remainder of a count that is
    no multiple of four is the hash of a counter moved past the words before it.
    """
    state = [int(w) for w in gen]
    if state[7] >= ALL_ONES - count:
        if state[8] == 0 and state[9] == 0:
            key = _hash(gen[:4], np.full((1, 4), ALL_ONES, "uint64"))[0]
            state = [*(int(w) for w in key), 0, 0, 0, 0, 1 << 63, 0]
        else:
            state[4:6] = [state[4] | state[8], state[5] | state[9]]
            state[6:8] = [0, 0]
            state[8:10] = _advance(state[8], state[9])
    key, counter = _words(state[:4]), _words(state[4:8])
    blocks, rest = divmod(count, 4)
    with np.errstate(over="ignore"):
        numbers = _hash(key, counter + np.arange(blocks, dtype="uint64")[:, None]).reshape(-1)
        if rest:
            state[7] = (state[7] + blocks * 4) % 2**64
            last = _hash(key, _words(state[4:8])[None])[0]
            numbers = np.concatenate([numbers, last[:rest]])
    state[6] = 0
    state[7] = (state[7] + (4 if rest else count)) % 2**64
    return _words(state), numbers


def split(gen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two generators that give different numbers from each other and from the one they came of."""
    state = [int(w) for w in gen]
    if state[8] == 0 and state[9] == 0:
        key = [int(w) for w in _hash(gen[:4], gen[None, 4:8])[0]]
        return _words([*key, 0, 0, 0, 0, 1 << 62, 0]), _words([*key, 1 << 63, 0, 0, 0, 1 << 62, 0])
    marker = _advance(state[8], state[9])
    left = [*state[:8], *marker]
    right = [*state[:4], state[4] | state[8], state[5] | state[9], *state[6:8], *marker]
    return _words(left), _words(right)

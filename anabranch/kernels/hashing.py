"""Texts to hashed n-grams: words, their hashes, and the sorted counts of a row, in one pass."""

import numpy as np
from numba import njit

from anabranch.kernels.counters import mix
from anabranch.protocol import Array

__all__ = ["LETTERS", "find_plain", "hash_texts"]

_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_ZERO = np.uint64(0)
_FEW = 48
"""Hashes of a row up to which insertion sorts faster than digits do."""
_DIGITS = 8


def _letters() -> Array:
    """Map each byte to what it is in a word: itself, lower case in ASCII; 0 where it is in none."""
    table = np.zeros(256, np.uint8)
    for byte in (*b"0123456789_abcdefghijklmnopqrstuvwxyz", *range(128, 256)):
        table[byte] = byte
    for byte in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        table[byte] = byte + 32
    return table


LETTERS = _letters()


@njit(cache=True, nogil=True)
def find_plain(data: Array, spans: Array, escapes: bool, plain: Array) -> None:
    """Tell which texts are ASCII, and where there are escapes without a backslash.

    Parameters
    ----------
    data : (bytes,) uint8
    spans : (n, k, 2) int64; where the k parts of each text begin and end
    escapes : whether a backslash begins an escape
    plain : (n,) bool, output
    """
    for row in range(len(spans)):
        bits, slashes = np.uint8(0), False
        for part in range(spans.shape[1]):
            for at in range(spans[row, part, 0], spans[row, part, 1]):
                bits |= data[at]
                slashes |= data[at] == 92
        plain[row] = bits < 128 and not (escapes and slashes)


@njit(cache=True, nogil=True)
def _sort_few(keys: Array, count: int) -> None:
    for i in range(1, count):
        key, at = keys[i], i
        while at > 0 and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = key


@njit(cache=True, nogil=True)
def _sort(keys: Array, spare: Array, count: int, bits: int) -> Array:
    """Sort by digits, the lowest first; gives the one of the two arrays that is in order."""
    if count <= _FEW:
        _sort_few(keys, count)
        return keys
    ends = np.empty((1 << _DIGITS) + 1, np.int64)
    mask = np.uint32((1 << _DIGITS) - 1)
    for low in range(0, bits, _DIGITS):
        shift = np.uint32(low)
        ends[:] = 0
        for i in range(count):
            ends[np.int64((keys[i] >> shift) & mask) + 1] += 1
        for digit in range(1 << _DIGITS):
            ends[digit + 1] += ends[digit]
        for i in range(count):
            place = np.int64((keys[i] >> shift) & mask)
            spare[ends[place]] = keys[i]
            ends[place] += 1
        keys, spare = spare, keys
    return keys


@njit(cache=True, nogil=True)
def _fold(keys: Array, count: int, logs: Array, indices: Array, values: Array, at: int) -> int:
    """Write each of the sorted keys once, with (1 + log tf) / |row|; gives the place after them."""
    begin, i, squares = at, 0, 0.0
    while i < count:
        key, first = keys[i], i
        while i < count and keys[i] == key:
            i += 1
        times = i - first
        value = logs[times] if times < len(logs) else 1.0 + np.log(np.float64(times))
        indices[at], values[at] = key, value
        squares += value * value
        at += 1
    if at > begin:
        norm = np.sqrt(squares)
        for j in range(begin, at):
            values[j] /= norm
    return at


@njit(cache=True, nogil=True)
def _hash_row(
    data: Array, parts: Array, letters: Array, shift: np.uint64, chain: Array, keys: Array
) -> int:
    """Write the columns of a text's n-grams, unsorted; gives how many there are.

    A word's hash is FNV-1a of its bytes in lower case, h = (h xor byte) prime; words of one
    letter are left out. An n-gram's is that of the n - 1 words before the last, stirred, xor the
    last word's: h(w1..wn) = mix(h(w1..wn-1), 0) xor h(wn). Its column is the upper bits of
    mix(h, 0).

    chain[g] holds the hash of the last g + 1 words.
    """
    count = words = 0
    for part in range(len(parts)):
        at, end = parts[part, 0], parts[part, 1]
        while at < end:
            letter = letters[data[at]]
            at += 1
            if letter == 0:
                continue
            begin, word = at, _OFFSET
            while letter != 0:
                word = (word ^ np.uint64(letter)) * _PRIME
                letter = letters[data[at]] if at < end else np.uint8(0)
                at += 1
            if at - begin < 2:
                continue
            for g in range(min(words, len(chain) - 1), 0, -1):
                chain[g] = mix(chain[g - 1], _ZERO) ^ word
                keys[count] = mix(chain[g], _ZERO) >> shift
                count += 1
            chain[0] = word
            keys[count] = mix(word, _ZERO) >> shift
            count += 1
            words += 1
    return count


@njit(cache=True, nogil=True)
def hash_texts(
    data: Array, spans: Array, letters: Array, bits: int, ngrams: int, logs: Array, longest: int,
    indptr: Array, indices: Array, values: Array,
) -> None:  # fmt: skip
    """Make sparse rows of texts: x_j = (1 + log tf_j) / |row|, tf_j n-grams falling into column j.

    Parameters
    ----------
    data : (bytes,) uint8, UTF-8
    spans : (n, k, 2) int64; where the k parts of each text begin and end. N-grams go on from
        one part to the next, words do not.
    letters : `LETTERS`; every byte beyond ASCII is part of a word
    bits : the columns are 0..2**bits - 1
    ngrams : of 1 up to so many words
    logs : (most,); 1 + log tf
    longest : n-grams of a text at most
    indptr : (n + 1,) int64, output
    indices, values : (most n-grams,) uint32 and float64, outputs
    """
    keys, spare = np.empty(longest, np.uint32), np.empty(longest, np.uint32)
    chain = np.empty(ngrams, np.uint64)
    at, shift = 0, np.uint64(64 - bits)
    indptr[0] = 0
    for row in range(len(spans)):
        count = _hash_row(data, spans[row], letters, shift, chain, keys)
        at = _fold(_sort(keys, spare, count, bits), count, logs, indices, values, at)
        indptr[row + 1] = at

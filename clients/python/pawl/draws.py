# SPDX-License-Identifier: MIT
"""Randomness that follows from the history: every replay draws the same.

A draw is SipHash-2-4 under the seed of the execution over (event number of the message, number of the
draw since that message, word).  The vectors are tests/protocol/vectors.json.  Pure.
"""
from __future__ import annotations

import struct

_MASK = (1 << 64) - 1
_KEY = 0x7061776C2D647261


def siphash24(k0: int, k1: int, data: bytes) -> int:
    """SipHash-2-4 of `data` under the key (k0, k1)."""
    a, b = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    c, d = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573

    def rounds(n: int) -> None:
        nonlocal a, b, c, d
        for _ in range(n):
            a = (a + b) & _MASK
            b = ((b << 13 | b >> 51) & _MASK) ^ a
            a = (a << 32 | a >> 32) & _MASK
            c = (c + d) & _MASK
            d = ((d << 16 | d >> 48) & _MASK) ^ c
            a = (a + d) & _MASK
            d = ((d << 21 | d >> 43) & _MASK) ^ a
            c = (c + b) & _MASK
            b = ((b << 17 | b >> 47) & _MASK) ^ c
            c = (c << 32 | c >> 32) & _MASK

    whole = len(data) // 8 * 8
    words = list(struct.unpack("<%dQ" % (whole // 8), data[:whole]))
    words.append((len(data) & 255) << 56 | int.from_bytes(data[whole:], "little"))
    for word in words:
        d ^= word
        rounds(2)
        a ^= word
    c ^= 0xFF
    rounds(4)
    return a ^ b ^ c ^ d


def word(seed: int, message_seq: int, draw: int, index: int) -> int:
    """64 bits: word `index` of a draw."""
    return siphash24(seed, _KEY, struct.pack("<3Q", message_seq, draw, index))


def unit(bits: int) -> float:
    """64 bits as a number from 0 up to 1."""
    return (bits >> 11) * 2.0 ** -53


def uuid(seed: int, message_seq: int, draw: int, now_ms: int) -> str:
    """A UUID of version 7 in shape, from two words of a draw."""
    low = struct.pack("<2Q", word(seed, message_seq, draw, 1), word(seed, message_seq, draw, 2))
    b = bytearray((now_ms & (1 << 48) - 1).to_bytes(6, "big") + low[:10])
    b[6] = 0x70 | b[6] & 15
    b[8] = 0x80 | b[8] & 63
    h = b.hex()
    return "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))


def seed_of(text: object) -> int:
    """The seed in `attrs` of a start: up to 16 hex digits; anything else is 0."""
    if not isinstance(text, str) or not 1 <= len(text) <= 16:
        return 0
    return int(text, 16) if all(c in "0123456789abcdefABCDEF" for c in text) else 0

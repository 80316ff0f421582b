"""FARM_FINGERPRINT: Fingerprint64 of FarmHash.

A fingerprint never changes (github.com/google/farmhash), so these are the service's numbers. All
arithmetic is of whole numbers of 64 bits without a sign, little-endian, that overflow as C's do.
"""

from __future__ import annotations

import struct

_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_SEED = 81
_BLOCK = 64  # bytes
_MASK = (1 << 64) - 1


def fingerprint(content: bytes) -> int:
    """Return the fingerprint as an INT64."""
    size = len(content)
    if size <= 16:
        hashed = _up_to_16(content, size)
    elif size <= 32:
        hashed = _up_to_32(content, size)
    elif size <= _BLOCK:
        hashed = _up_to_64(content, size)
    else:
        hashed = _more(content, size)
    return hashed - (1 << 64) if hashed >> 63 else hashed


def _word(content: bytes, at: int) -> int:
    return int.from_bytes(content[at : at + 8], "little")


def _rotate(value: int, by: int) -> int:
    value &= _MASK
    return (value >> by | value << (64 - by)) & _MASK


def _shift_mix(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _mix(u: int, v: int, factor: int) -> int:
    """Return one number of two."""
    a = _shift_mix(((u ^ v) & _MASK) * factor)
    b = _shift_mix(((v ^ a) & _MASK) * factor)
    return b * factor & _MASK


def _up_to_16(content: bytes, size: int) -> int:
    factor = _K2 + size * 2 & _MASK
    if size >= 8:
        a, b = _word(content, 0) + _K2, _word(content, size - 8)
        return _mix(_rotate(b, 37) * factor + a, (_rotate(a, 25) + b) * factor, factor)
    if size >= 4:
        first, last = struct.unpack("<I", content[:4])[0], struct.unpack("<I", content[-4:])[0]
        return _mix(size + (first << 3), last, factor)
    if size:
        y = content[0] + (content[size >> 1] << 8)
        z = size + (content[-1] << 2)
        return _shift_mix((y * _K2 & _MASK) ^ (z * _K0 & _MASK)) * _K2 & _MASK
    return _K2


def _ends(content: bytes, size: int, first: int, factor: int) -> tuple[int, int, int]:
    """Return what 16 bytes at each end give; first: the factor of the first 8."""
    a, b = _word(content, 0) * first, _word(content, 8)
    c, d = _word(content, size - 8) * factor, _word(content, size - 16) * _K2
    y = _rotate(a + b, 43) + _rotate(c, 30) + d
    return a, y & _MASK, a + _rotate(b + _K2, 18) + c & _MASK


def _up_to_32(content: bytes, size: int) -> int:
    factor = _K2 + size * 2 & _MASK
    _, u, v = _ends(content, size, _K1, factor)
    return _mix(u, v, factor)


def _up_to_64(content: bytes, size: int) -> int:
    factor = _K2 + size * 2 & _MASK
    a, y, v = _ends(content, size, _K2, factor)
    z = _mix(y, v, factor)
    e, f = _word(content, 16) * factor, _word(content, 24)
    g = (y + _word(content, size - 32)) * factor
    h = (z + _word(content, size - 24)) * factor
    u = _rotate(e + f, 43) + _rotate(g, 30) + h
    return _mix(u & _MASK, e + _rotate(f + a, 18) + g & _MASK, factor)


def _more(content: bytes, size: int) -> int:
    y = _SEED * _K1 + 113 & _MASK
    z = _shift_mix(y * _K2 + 113) * _K2 & _MASK
    state = (_SEED * _K2 + _word(content, 0) & _MASK, y, z, (0, 0), (0, 0))
    for at in range(0, (size - 1) // _BLOCK * _BLOCK, _BLOCK):
        state = _round(content, at, state, factor=_K1, weight=1)
    x, y, z, v, w = state
    factor = _K1 + ((z & 0xFF) << 1)
    first = w[0] + (size - 1) % _BLOCK
    v = (v[0] + first & _MASK, v[1])
    w = (first + v[0] & _MASK, w[1])
    state = (x, y, z, v, w)
    x, y, z, v, w = _round(content, size - _BLOCK, state, factor=factor, weight=9)
    u = _mix(v[0], w[0], factor) + _shift_mix(y) * _K0 + z
    return _mix(u & _MASK, _mix(v[1], w[1], factor) + x & _MASK, factor)


_State = tuple[int, int, int, tuple[int, int], tuple[int, int]]


def _round(content: bytes, at: int, state: _State, *, factor: int, weight: int) -> _State:
    """Return the state after a block of 64 bytes."""
    x, y, z, v, w = state
    x = _rotate(x + y + v[0] + _word(content, at + 8), 37) * factor & _MASK
    y = _rotate(y + v[1] + _word(content, at + 48), 42) * factor
    x ^= w[1] * weight & _MASK
    y = y + v[0] * weight + _word(content, at + 40) & _MASK
    z = _rotate(z + w[0], 33) * factor & _MASK
    v = _half(content, at, v[1] * factor, x + w[0])
    w = _half(content, at + 32, z + w[1], y + _word(content, at + 16))
    return z, y, x, v, w


def _half(content: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """Return two numbers of 32 bytes and two numbers."""
    first, second, third, last = struct.unpack("<4Q", content[at : at + 32])
    a += first
    b = _rotate(b + a + last, 21)
    whole = a + second + third
    b += _rotate(whole, 44)
    return whole + last & _MASK, b + a & _MASK

"""Exponentials and logarithms with the bits of C libraries, which NumPy's own do not have."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .units import Floats

#: Steps of a power of two in glibc's ``expf``, and the coefficients of 2^(x / EXPF_STEPS) - 1, the highest first.
EXPF_STEPS = 32
EXPF = [
    float.fromhex(digits) / EXPF_STEPS**power
    for digits, power in (("0x1.c6af84b912394p-5", 3), ("0x1.ebfce50fac4f3p-3", 2), ("0x1.62e42ff0c52d6p-1", 1))
]
EXPF_POWERS = 2.0 ** (np.arange(EXPF_STEPS) / EXPF_STEPS)
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
#: Parts of an octave in glibc's ``logf``, where they begin in the bits of a float32, their reciprocals and logarithms,
#: and the coefficients of log(1 + x) - x, the highest first.
LOGF_PARTS, LOGF_START = 16, 0x3F330000
LOGF_RECIPROCALS = np.array(
    [
        *(float.fromhex(f"0x1.{digits}p+0") for digits in ("661ec79f8f3be", "571ed4aaf883d", "49539f0f010b")),
        *(float.fromhex(f"0x1.{digits}p+0") for digits in ("3c995b0b80385", "30d190c8864a5", "25e227b0b8ea")),
        *(float.fromhex(f"0x1.{digits}p+0") for digits in ("1bb4a4a1a343f", "12358f08ae5ba", "0953f419900a7")),
        1.0,
        *(float.fromhex(f"0x1.{digits}p-1") for digits in ("e608cfd9a47ac", "ca4b31f026aa", "b2036576afce6")),
        *(float.fromhex(f"0x1.{digits}p-1") for digits in ("9c2d163a1aa2d", "886e6037841ed", "767dcf5534862")),
    ]
)
LOGF_LOGARITHMS = np.array(
    [
        *(float.fromhex(f"-0x1.{digits}p-2") for digits in ("57bf7808caade", "2bef0a7c06ddb", "01eae7f513a67")),
        *(float.fromhex(f"-0x1.{digits}p-3") for digits in ("b31d8a68224e9", "6574f0ac07758", "1aa2bc79c81")),
        *(float.fromhex(f"-0x1.{digits}p-4") for digits in ("a4e76ce8c0e5e", "1973c5a611ccc")),
        float.fromhex("-0x1.252f438e10c1ep-5"),
        0.0,
        float.fromhex("0x1.aa5aa5df25984p-5"),
        float.fromhex("0x1.c5e53aa362eb4p-4"),
        *(float.fromhex(f"0x1.{digits}p-3") for digits in ("526e57720db08", "bc2860d22477")),
        *(float.fromhex(f"0x1.{digits}p-2") for digits in ("1058bc8a07ee1", "4043057b6ee09")),
    ]
)
LOGF = [float.fromhex(d) for d in ("-0x1.00ea348b88334p-2", "0x1.5575b0be00b6ap-2", "-0x1.ffffef20a4123p-2")]
#: Steps of a power of two in fmath's ``expd``, which CatBoost uses, bits of their numbers, and what it computes by.
EXPD_BITS = 11
EXPD_STEPS = 1 << EXPD_BITS
EXPD_POWERS = np.array([math.pow(2.0, step / EXPD_STEPS) for step in range(EXPD_STEPS)])
EXPD_FACTOR, EXPD_SHARE = EXPD_STEPS / math.log(2.0), math.log(2.0) / EXPD_STEPS
EXPD_SIXTH, EXPD_THREE, EXPD_ROUND = 0.16666666685227835064, 3.0000000027955394, float(3 << 51)
EXPD_RANGE = -708.39641853226408, 709.78271289338397
#: Smaller numbers have the exponential 0 in float32.
LEAST_EXPF = -120.0
#: Up to this many numbers, lists are faster than arrays.
FEW = 32


def exponentials(values: Floats) -> Floats:
    """Compute ``exp`` by the C library; NumPy's own rounds otherwise for some values."""
    low, high = -745.2, 709.7
    if values.size <= FEW:
        few = [math.inf if value > high else math.exp(max(value, low)) for value in values.ravel().tolist()]
        return np.array(few, dtype=np.float64).reshape(values.shape)
    flat = np.clip(values.ravel(), low, high).tolist()
    found = np.fromiter(map(math.exp, flat), dtype=np.float64, count=len(flat)).reshape(values.shape)
    return np.where(values > high, np.inf, found)


def float32_exponentials(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute ``expf`` as glibc does, in float64: a power of two from a table, and a polynomial for the rest.

    Values are at most 88.7.
    """
    scaled = np.maximum(values, np.float32(LEAST_EXPF)).astype(np.float64) * (EXPF_STEPS * LOG2_E)
    steps = np.rint(scaled)
    rest, number = scaled - steps, steps.astype(np.int64)
    power = np.ldexp(EXPF_POWERS[number % EXPF_STEPS], number // EXPF_STEPS)
    found = ((EXPF[0] * rest + EXPF[1]) * (rest * rest) + (EXPF[2] * rest + 1.0)) * power
    return np.asarray(found.astype(np.float32))


def large_float32_exponentials(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """`float32_exponentials` of any numbers; from 88.73 on they are infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float32_exponentials(np.minimum(values, np.float32(89.0)))


def float32_logarithms(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute ``logf`` as glibc does, in float64: a logarithm from a table, and a polynomial for the rest.

    Values are positive, finite and normal.
    """
    bits = values.view(np.int32)
    beyond = bits - np.int32(LOGF_START)
    part, octave = (beyond >> 19) % LOGF_PARTS, beyond >> 23
    fraction = (bits - (octave << 23)).view(np.float32).astype(np.float64)
    rest = fraction * LOGF_RECIPROCALS[part] - 1.0
    known = LOGF_LOGARITHMS[part] + octave * math.log(2.0)
    square = rest * rest
    found = (LOGF[0] * square + (LOGF[1] * rest + LOGF[2])) * square + (known + rest)
    return np.asarray(found.astype(np.float32))


def fast_exponentials(values: Floats) -> Floats:
    """Compute the exponential of fmath (``expd``), as CatBoost does: a power of two from a table, and a polynomial.

    Numbers beyond those with normal exponentials count as the nearest of these.
    """
    x = np.clip(values, *EXPD_RANGE)
    rounded = x * EXPD_FACTOR + EXPD_ROUND  # whose last bits are the number of steps
    steps = rounded.view(np.int64) - np.float64(EXPD_ROUND).view(np.int64)
    rest = (rounded - EXPD_ROUND) * EXPD_SHARE - x
    with np.errstate(over="ignore", invalid="ignore"):  # the largest numbers have infinite exponentials, as there
        power = np.ldexp(EXPD_POWERS[steps % EXPD_STEPS], steps >> EXPD_BITS)
        return np.asarray(((EXPD_THREE - rest) * (rest * rest) * EXPD_SIXTH - rest + 1.0) * power)

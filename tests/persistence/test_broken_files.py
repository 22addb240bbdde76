"""Files whose form is broken: each is refused with a FileFormatError."""

import json
import re
import struct
import time
import tracemalloc

import numpy as np
import pytest
from persistence.forge import PREFIX, put_together, sealed, taken_apart
from persistence.hostile import file_of, refused

import wald
from wald.persistence import FileFormatError

# ---- the outer form --------------------------------------------------------------------------------------------------


def test_every_truncation_is_refused(path):
    raw = file_of("logistic", path)
    for end in [*range(64), *range(64, len(raw), 97), len(raw) - 1]:
        refused(path, raw[:end], "was cut off" if end >= 32 else "no file that wald.save wrote")


def test_every_altered_byte_is_refused(path):
    raw = file_of("logistic", path)
    for at in [*range(40), *range(40, len(raw), 41)]:
        altered = bytearray(raw)
        altered[at] ^= 0x10
        refused(path, bytes(altered), "checksum|format|wald|bytes|header|array|file")
    refused(path, raw + b"\0", "has something appended: it should have [0-9]+ bytes, and has [0-9]+")
    refused(path, sealed(raw + bytes(64)), "arrays do not fill the file")


def test_what_is_no_file_of_walds(path, tmp_path):
    for raw in (b"", b"\x80\x04\x95", b"PK\x03\x04" + bytes(100), b"wald" * 100):
        refused(path, raw, "no file that wald.save wrote")
    with pytest.raises(FileFormatError, match="no regular file"):
        wald.load(tmp_path)


def test_a_later_format_says_what_is_needed(path):
    raw = file_of("logistic", path)
    fields, arrays = taken_apart(raw)
    fields["library"] = "7.3.1"
    later = bytearray(put_together(fields, arrays))
    later[8:12] = struct.pack("<I", 2)
    refused(path, sealed(bytes(later)), r"version 2 was written by wald 7\.3\.1.*Install wald 7\.3\.1 or later")
    later[32:60] = bytes(28)
    refused(path, sealed(bytes(later)), "written by wald a newer version")
    later[8:12] = bytes(4)
    refused(path, sealed(bytes(later)), "format version 0")


# ---- the header ------------------------------------------------------------------------------------------------------

HEADERS = {
    "no JSON": ("{", "no JSON"),
    "no object": ("[]", "no JSON object"),
    "empty": ("", "no JSON"),
    "no UTF-8": ("\udcff", "no JSON"),
    "deep": ("[" * 100_000, "nests deeper"),
    "deep objects": ('{"a":' * 50_000, "nests deeper"),
    "deep behind a text": ('{"a[": "\\"[", "b": ' + "[" * 99, "nests deeper"),
    "many parts": ("[" + "0," * 400_000, "more than"),
    "endless text": ('{"' + '\\"' * 400_000, "no JSON"),
    "large": ('{"a": "' + "a" * (1 << 20) + '"}', "bytes; at most"),
    "a key twice": ('{"library": "1", "library": "2"}', "a key twice"),
    "a long number": ('{"library": ' + "9" * 5000 + "}", "a number of 5000 digits"),
    "NaN": ('{"library": NaN}', "not finite"),
    "infinity": ('{"library": -Infinity}', "not finite"),
    "beyond float64": ('{"library": 1e999}', "not finite"),
    "no arrays": ('{"library": "1"}', "arrays should be a list"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name, path):
    text, message = HEADERS[name]
    raw = text.encode("utf-8", "surrogateescape")
    start = time.perf_counter()
    refused(path, sealed(PREFIX.pack(b"\x93WALD\r\n\x1a", 1, len(raw), 0, 0) + raw), message)
    assert time.perf_counter() - start < 2


def test_the_file_says_in_words_what_it_must(path):
    refused(path, put_together({}, {}), "header has no 'library'")
    fields, arrays = taken_apart(file_of("logistic", path))
    refused(path, put_together({**fields, "more": 1}, arrays), "header has an unknown 'more'")
    refused(path, put_together(fields, {**arrays, "more": np.zeros(1)}), "unknown array 'more'")
    assert len(fields["fingerprint"]) == 64


@pytest.mark.parametrize(
    "shape", [[2**40], [2**48, 2**48], [2**63], [2**70], [-1], [1.0], [True], "ab", [1, 1, 1], [], [[1]], None]
)
def test_shapes_are_checked_before_anything_is_allocated(shape, path):
    fields, arrays = taken_apart(file_of("logistic", path))
    raw = put_together(fields, arrays)
    table = json.dumps(json.loads(raw[32 : 32 + PREFIX.unpack(raw[:32])[2]])["arrays"])
    for name in ("model.terms.coef", "stage_scores.margins"):
        lie = re.sub(rf'(\["{re.escape(name)}", "<f8", )\[[0-9, ]*\]', lambda m: m[1] + json.dumps(shape), table)
        assert lie != table
        forged = forged_table(fields, raw, lie)
        tracemalloc.start()
        try:
            refused(path, forged, "header.arrays|arrays do not fill|a number of 22 digits")
            assert tracemalloc.get_traced_memory()[1] < 3 * len(forged) + (1 << 20)
        finally:
            tracemalloc.stop()


def forged_table(fields, raw, table):
    length = PREFIX.unpack(raw[:32])[2]
    body = raw[-(-(32 + length) // 64) * 64 :]
    header = json.dumps({**fields, "arrays": json.loads(table)}).encode()
    head = header + bytes(-(32 + len(header)) % 64)
    return sealed(PREFIX.pack(b"\x93WALD\r\n\x1a", 1, len(header), 0, 0) + head + body)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: [[n, d, s, o + 64] for n, d, s, o in t], "should begin at 0"),
        (lambda t: [[n, d, s, 0] for n, d, s, o in t], "should begin at"),
        (lambda t: [[n, d, s, -o] for n, d, s, o in t], "should begin at"),
        (lambda t: [[n, d, s, float(o)] for n, d, s, o in t], "should begin at"),
        (lambda t: [["model.terms.coef", d, s, o] for n, d, s, o in t], "names 'model.terms.coef' twice"),
        (lambda t: [[n, "|O", s, o] for n, d, s, o in t], "dtype of"),
        (lambda t: [[n, ">f8", s, o] for n, d, s, o in t], "dtype of"),
        (lambda t: [[n, [["a", "<f8"]], s, o] for n, d, s, o in t], "dtype of"),
        (lambda t: [[n, "<U99999", s, o] for n, d, s, o in t], "dtype of"),
        (lambda t: [[n, "<f8", s] for n, d, s, o in t], r"every entry is \[name, dtype, shape, offset\]"),
        (lambda t: [[1, d, s, o] for n, d, s, o in t], "name should be a text"),
        (lambda t: t[:-1], "do not fill the file"),
        (lambda t: (t * 8200)[:8200], "entries; at most"),
        (lambda t: "model.terms.coef", "arrays should be a list"),
    ],
)
def test_the_table_of_arrays(change, message, path):
    fields, arrays = taken_apart(file_of("logistic", path))
    raw = put_together(fields, arrays)
    table = json.loads(raw[32 : 32 + PREFIX.unpack(raw[:32])[2]])["arrays"]
    refused(path, forged_table(fields, raw, json.dumps(change(table))), message)


def test_what_lies_between_arrays_is_zero(path):
    fields, arrays = taken_apart(file_of("logistic", path))
    raw = bytearray(put_together(fields, arrays))
    at = 32 + PREFIX.unpack(raw[:32])[2]
    assert at % 64  # or nothing lies between
    raw[at] = 1
    refused(path, sealed(bytes(raw)), "between two arrays are not zero")

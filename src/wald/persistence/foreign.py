"""Names what a file is that wald did not write, by its first bytes, and what reads it."""

from __future__ import annotations

_MODEL = ": wald.read_model reads it, if it is a model of LightGBM, XGBoost or CatBoost"
_PICKLE = ": a pickle, which runs code, is read by its own library, joblib.load or pickle.load, if you trust it"


def foreign(first: bytes) -> str:
    """Return the end of a sentence on a file, or an empty string for a kind that is unknown.

    Parameters
    ----------
    first : bytes
        The first 32 bytes; fewer if the file has fewer.
    """
    if not first:
        return ": it is empty"
    plain = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if first.startswith(b"CBM1") or plain.startswith((b"tree\n", b"tree\r", b"{", b"[", b"Tree=")):
        return _MODEL  # CatBoost's binary format, LightGBM's text, JSON and UBJSON
    if first.startswith(b"binf"):
        return f"{_MODEL}; this one is in XGBoost's old binary format: save it as .json or .ubj first"
    if first[:1] == b"\x80" and first[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return _PICKLE
    if first[:2] in (b"\x1f\x8b", b"\x78\x9c", b"\x78\x01", b"\x78\xda", b"BZ") or first[:6] == b"\xfd7zXZ\x00":
        return (
            ": it is compressed; unpack it first. A model's text or JSON is read by wald.read_model, a pickle by joblib"
        )
    if first.startswith(b"PK\x03\x04"):
        return ": it is a zip archive, such as skops.io.load or torch.load read"
    if first.startswith(
        (b"\x08\x03", b"\x08\x04", b"\x08\x05", b"\x08\x06", b"\x08\x07", b"\x08\x08", b"\x08\x09", b"\x08\x0a")
    ):
        return ": it looks like ONNX; wald wraps the fitted model that it was made from"
    return ""

"""A look at the tags of a MATLAB version 5 file before SciPy reads it.

SciPy (1.17 at least) uses the type code of the values as an index without checking it, so that a
damaged code ends the whole process. The layout is that of "MAT-File Format", The MathWorks: each
element has a tag of two 32-bit numbers, its type and its length, and is padded to 8 bytes; an
element of up to 4 bytes may share its tag's 8 bytes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from spectrawalk.errors import FileError

_HEADER_BYTES = 128
_HEAD_BYTES = 4096  # the tags before the values of a variable take about a hundred
_MATRIX, _COMPRESSED = 14, 15
_NUMBER_TYPES = frozenset({1, 2, 3, 4, 5, 6, 7, 9, 12, 13})
_COMPLEX_FLAG = 0x800


def check_tags(path: Path, name: str) -> None:
    """Refuse the numeric variable `name` if its values are complex or of an unknown type."""
    with path.open("rb") as file:
        order = "<" if file.read(_HEADER_BYTES)[126:128] == b"IM" else ">"
    for head in _variable_heads(path, order):
        flags, found, value_type = _read_tags(head, order)
        if found != name:
            continue
        if flags & _COMPLEX_FLAG:
            raise FileError(f"'{path}': {name} holds complex values; real numbers are needed.")
        if value_type not in _NUMBER_TYPES:
            raise FileError(
                f"'{path}' is damaged: the values of {name} are of the unknown type {value_type}; "
                "get or write the file again."
            )


def _variable_heads(path: Path, order: str) -> Iterator[bytes]:
    """Yield the first bytes of each variable, unpacked."""
    with path.open("rb") as file:
        position = _HEADER_BYTES
        while True:
            file.seek(position)
            tag = file.read(8)
            if len(tag) < 8:
                return
            kind, length = struct.unpack(f"{order}2I", tag)
            head = file.read(min(length, _HEAD_BYTES))
            if kind == _COMPRESSED:
                # What is unpacked begins with the tag of the matrix inside.
                yield zlib.decompressobj().decompress(head, _HEAD_BYTES)[8:]
            elif kind == _MATRIX:
                yield head
            position += 8 + length


def _read_tags(head: bytes, order: str) -> tuple[int, str, int]:
    """Read the flags, the name and the type code of the values of one variable."""
    flags, position = _element(head, 0, order)
    _, position = _element(head, position, order)  # the lengths of its axes
    name, position = _element(head, position, order)
    (value_tag,) = struct.unpack_from(f"{order}I", head, position)
    value_type = value_tag & 0xFFFF if value_tag >> 16 else value_tag
    (flag_bits,) = struct.unpack_from(f"{order}I", flags)
    return flag_bits, name.decode("latin-1"), value_type


def _element(head: bytes, position: int, order: str) -> tuple[bytes, int]:
    """Read one small element, and where the next one begins."""
    first, length = struct.unpack_from(f"{order}2I", head, position)
    if first >> 16:
        return head[position + 4 : position + 4 + (first >> 16)], position + 8
    start = position + 8
    return head[start : start + length], start + length + -length % 8

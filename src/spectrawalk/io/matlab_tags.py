"""A look at the tags of a MATLAB version 5 file before SciPy reads it.

SciPy (1.17 at least) uses the type code of the values as an index without checking it, so that a
damaged code ends the whole process. So every tag that SciPy relies on must be what the format
prescribes. The layout is that of "MAT-File Format", The MathWorks: each
element has a tag of two 32-bit numbers, its type and its length, and is padded to 8 bytes; an
element of up to 4 bytes may share its tag's 8 bytes.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spectrawalk.errors import FileError
from spectrawalk.io.selection import check_promise

_HEADER_BYTES = 128
_HEAD_BYTES = 4096  # the tags before the values of a variable take about a hundred
_MATRIX, _COMPRESSED = 14, 15
_TEXT_TYPE, _AXES_TYPE, _FLAGS_TYPE = 1, 5, 6
_VALUE_BYTES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
_OPAQUE_CLASS = 17  # objects: their tags follow other rules, and they are never a cube
_COMPLEX_FLAG = 0x800


@dataclass(frozen=True)
class Tags:
    """What stands before the values of a variable."""

    flags: int
    shape: tuple[int, ...]
    name: str
    value_type: int
    value_bytes: int


def check_tags(path: Path, name: str) -> None:
    """Refuse the numeric variable `name` if its values are complex or its tags lie."""
    with path.open("rb") as file:
        order = "<" if file.read(_HEADER_BYTES)[126:128] == b"IM" else ">"
    found = [
        tags
        for head in _variable_heads(path, order)
        if (tags := _read_tags(path, head, order)) is not None and tags.name == name
    ]
    if len(found) != 1:
        raise _damage(path, f"{len(found)} variables are called {name}")
    (tags,) = found
    if tags.flags & _COMPLEX_FLAG:
        raise FileError(f"'{path}': {name} holds complex values; real numbers are needed.")
    if tags.value_type not in _VALUE_BYTES:
        raise _damage(path, f"the values of {name} are of the unknown type {tags.value_type}")
    if math.prod(tags.shape) * _VALUE_BYTES[tags.value_type] != tags.value_bytes:
        raise _damage(path, f"{name} has {tags.value_bytes} bytes for the shape {tags.shape}")
    check_promise(path, tags.value_bytes, path.stat().st_size)


def _damage(path: Path, what: str) -> FileError:
    return FileError(f"'{path}' is damaged: {what}; get or write the file again.")


def _variable_heads(path: Path, order: str) -> Iterator[bytes]:
    """Yield the first bytes of each variable, unpacked."""
    size = path.stat().st_size
    with path.open("rb") as file:
        position = _HEADER_BYTES
        while position < size:
            file.seek(position)
            kind, length = struct.unpack(f"{order}2I", file.read(8))
            position += 8 + length
            if kind not in (_MATRIX, _COMPRESSED) or position > size:
                raise _damage(path, f"an element has the type {kind} and {length} bytes")
            head = file.read(min(length, _HEAD_BYTES))
            if kind == _COMPRESSED:
                head = zlib.decompressobj().decompress(head, _HEAD_BYTES)
                (kind,) = struct.unpack_from(f"{order}I", head)
                head = head[8:]  # what is unpacked begins with the tag of the matrix inside
            if kind != _MATRIX:
                raise _damage(path, f"a packed element has the type {kind}")
            yield head


def _read_tags(path: Path, head: bytes, order: str) -> Tags | None:
    """Read the tags of one variable; None for an object."""
    kind, flags, position = _element(head, 0, order)
    if kind != _FLAGS_TYPE or len(flags) != 8:
        raise _damage(path, "the flags of a variable are not where they belong")
    (flag_bits,) = struct.unpack_from(f"{order}I", flags)
    if flag_bits & 0xFF == _OPAQUE_CLASS:
        return None
    axes_kind, axes, position = _element(head, position, order)
    name_kind, name, position = _element(head, position, order)
    if axes_kind != _AXES_TYPE or len(axes) % 4 or name_kind != _TEXT_TYPE:
        raise _damage(path, "the axes or the name of a variable are not where they belong")
    shape = struct.unpack(f"{order}{len(axes) // 4}i", axes)
    if min(shape, default=0) < 0:
        raise _damage(path, f"a variable has the shape {shape}")
    value_type, value_bytes = _tag(head, position, order)
    return Tags(flag_bits, shape, name.decode("latin-1"), value_type, value_bytes)


def _tag(head: bytes, position: int, order: str) -> tuple[int, int]:
    """Read the type and the length of an element; 0 and 0 where a variable ends without values."""
    if position >= len(head):
        return 0, 0
    first, length = struct.unpack_from(f"{order}2I", head, position)
    return (first & 0xFFFF, first >> 16) if first >> 16 else (first, length)


def _element(head: bytes, position: int, order: str) -> tuple[int, bytes, int]:
    """Read one small element: its type, its bytes, and where the next one begins."""
    kind, length = _tag(head, position, order)
    (first,) = struct.unpack_from(f"{order}I", head, position)
    if first >> 16:
        return kind, head[position + 4 : position + 4 + min(length, 4)], position + 8
    start = position + 8
    return kind, head[start : start + length], start + length + -length % 8

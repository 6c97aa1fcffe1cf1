"""Read damaged copies of a file, one after the other, within limits of time and memory.

Run as a process of its own by ``test_io_fuzz.py``, since a crash, a hang or an appetite for memory
inside a library ends it. Before each case it prints the number of the case, after it the outcome.

    python fuzz_reader.py SAMPLE SCRATCH FIRST COUNT

SAMPLE is a file, or a folder whose files belong together; with ``:NAME`` appended, NAME is the file
inside that is read instead of the folder.
"""

import re
import resource
import shutil
import signal
import sys
from pathlib import Path

import numpy as np

SECONDS = 5
BYTES = 500 * 2**20
WHOLE_NUMBERS = (0, 1, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1)
WORDS = (
    b"0", b"-1", b"1", b"7", b"65536", b"2147483648", b"99999999999", b"9223372036854775808",
    b"1e9", b"1e400", b"nan", b"-inf", b"", b"{", b"}", b"\x00", b"x" * 3000, b"9" * 5000,
)  # fmt: skip


def cut_short(data, rng):
    return data[: rng.integers(len(data))]


def flip_bytes(data, rng):
    damaged = bytearray(data)
    # Half of the time near the beginning, where headers are.
    reach = len(data) if rng.random() < 0.5 else min(len(data), 600)
    for position in rng.integers(reach, size=rng.integers(1, 9)):
        damaged[position] = rng.integers(256)
    return bytes(damaged)


def lie_in_binary(data, rng):
    damaged = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        size = int(rng.choice([1, 2, 4, 8]))
        value = int(rng.choice(WHOLE_NUMBERS)) % 256**size
        position = rng.integers(max(1, len(data) - size))
        damaged[position : position + size] = value.to_bytes(size, rng.choice(["little", "big"]))
    return bytes(damaged)


def lie_in_text(data, rng):
    numbers = list(re.finditer(rb"[-\d.]+", data))
    if not numbers:
        return flip_bytes(data, rng)
    match = numbers[rng.integers(len(numbers))]
    word = WORDS[rng.integers(len(WORDS))]
    return data[: match.start()] + word + data[match.end() :]


def shuffle_parts(data, rng):
    first, second, third = sorted(rng.integers(len(data) + 1, size=3))
    kind = rng.integers(3)
    if kind == 0:  # a part is missing
        return data[:first] + data[second:]
    if kind == 1:  # a part is there twice
        return data[:second] + data[first:]
    return data[:first] + data[second:third] + data[first:second] + data[third:]


DAMAGES = (cut_short, flip_bytes, flip_bytes, lie_in_binary, lie_in_text, shuffle_parts)


def damage(files, rng):
    """Damage one file; text, where there is some, more often than its share of the bytes."""
    path = files[rng.integers(len(files))]
    data = path.read_bytes()
    for _ in range(1 + (rng.random() < 0.2)):
        if data:
            data = DAMAGES[rng.integers(len(DAMAGES))](data, rng)
    path.write_bytes(data)


def virtual_memory():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main(sample, scratch, first, count):
    from spectrawalk import read_scene
    from spectrawalk.errors import SpectrawalkError

    sample, _, inner = sample.partition(":")
    sample, scratch = Path(sample), Path(scratch)
    target = scratch / sample.name
    subject = target / inner if inner else target
    copy = shutil.copytree if sample.is_dir() else shutil.copyfile
    copy(sample, target)
    read_scene(subject)  # loads all libraries, and shows that the sample is sound
    files = sorted(target.rglob("*")) if target.is_dir() else [target]
    files = [path.relative_to(scratch) for path in files if path.is_file()]
    resource.setrlimit(resource.RLIMIT_AS, (virtual_memory() + BYTES,) * 2)
    for case in range(first, first + count):
        print(case, end=" ", flush=True)
        if target.is_dir():
            shutil.rmtree(target)
        copy(sample, target)
        damage([scratch / path for path in files], np.random.default_rng(case))
        signal.setitimer(signal.ITIMER_REAL, SECONDS)  # its signal ends even a loop in C
        try:
            read_scene(subject)
            outcome = "read"
        except SpectrawalkError:
            outcome = "refused"
        except BaseException as error:
            outcome = f"raised {type(error).__name__}: {error}".replace("\n", " ")[:200]
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(outcome, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))

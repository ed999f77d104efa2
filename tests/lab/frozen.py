# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The memory of a frozen guest: a sparse file in the cache, and a guest's own copy of it.

QEMU could write the memory into its own stream, but whoever reads that back looks for
zeros in each page and so allocates all of a guest's memory: seconds for 3 GiB.
"""

import fcntl
import os

# Granularity in which a file is kept sparse, in bytes.
PIECE = 1 << 16


def create(size):
    """Descriptor of so much memory ("1G"), as QEMU's own memfd: it cannot change its size."""
    size = int(size.removesuffix("G")) << 30
    memory = os.memfd_create("guest", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(memory, size)
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return memory


def _data(file, size):
    """Yields start and end of all that is not a hole."""
    end = 0
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError:  # ENXIO: no more
            return
        end = os.lseek(file, start, os.SEEK_HOLE)
        yield start, end


def save(memory, path):
    """Writes a guest's memory into a file, pieces of zeros as holes."""
    size = os.fstat(memory).st_size
    zeros = bytes(PIECE)
    with open(path, "wb") as file:
        os.truncate(file.fileno(), size)
        for start, end in _data(memory, size):
            for at in range(start, end, PIECE):
                piece = os.pread(memory, min(PIECE, end - at), at)
                if piece != zeros[:len(piece)]:
                    os.pwrite(file.fileno(), piece, at)


def restore(path):
    """A copy of what save() wrote, as create() returns it."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        memory = create(f"{size >> 30}G")
        for start, end in _data(file.fileno(), size):
            os.lseek(memory, start, os.SEEK_SET)
            while start < end:
                start += os.sendfile(memory, file.fileno(), start, end - start)
    return memory

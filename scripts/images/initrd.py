#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Writes an initramfs: a cpio archive in the kernel's "newc" format.

usage: initrd.py OUTPUT NAME=FILE...

Every NAME is a path inside; directories are made as needed.  busybox is always
in it, /init is the caller's.  Done here rather than with cpio, so that nothing
need be laid out on the disk and device nodes need no privilege.
"""

import pathlib
import stat
import sys

BUSYBOX = pathlib.Path("/bin/busybox")


def _member(number, name, mode, data=b"", device=(0, 0)):
    encoded = name.encode() + b"\0"
    header = "070701" + "".join(
        f"{field:08x}"
        for field in (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
    )
    member = header.encode() + encoded
    member += b"\0" * (-len(member) % 4)
    return member + data + b"\0" * (-len(data) % 4)


def write(output, files):
    """Writes the archive: files is {path inside: bytes, or the file to take}."""
    files = {"bin/busybox": BUSYBOX, **files}
    # The kernel opens the console for /init before that can mount anything.
    members = [("dev", stat.S_IFDIR | 0o755, b"", (0, 0)),
               ("dev/console", stat.S_IFCHR | 0o600, b"", (5, 1))]
    done = {"dev"}
    for name, source in files.items():
        name = name.strip("/")
        for parent in reversed(pathlib.PurePath(name).parents):
            if str(parent) != "." and str(parent) not in done:
                done.add(str(parent))
                members.append((str(parent), stat.S_IFDIR | 0o755, b"", (0, 0)))
        data = source if isinstance(source, bytes) else pathlib.Path(source).read_bytes()
        members.append((name, stat.S_IFREG | 0o755, data, (0, 0)))

    with open(output, "wb") as archive:
        for number, (name, mode, data, device) in enumerate(members, 1):
            archive.write(_member(number, name, mode, data, device))
        archive.write(_member(0, "TRAILER!!!", 0))


if __name__ == "__main__":
    write(sys.argv[1], dict(argument.split("=", 1) for argument in sys.argv[2:]))

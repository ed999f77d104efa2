# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Command lines of fio for a block device, past the page cache, and what fio says."""

import json


def fio(device, *arguments):
    """A command of fio for a device."""
    return ["fio", "--name=x", "--ioengine=libaio", "--direct=1", f"--filename={device}",
            "--output-format=json", *arguments]


def verifying(device, size, total):
    """It writes in random order, 64 requests at a time, then reads and compares all of it."""
    return fio(device, "--rw=randwrite", f"--bs={size}", f"--size={total}", "--iodepth=64",
               "--verify=crc32c", "--do_verify=1", "--verify_fatal=1")


def reading(device, count):
    """So many reads of 4 KiB in random order, 64 at a time, of as little as a gigabyte."""
    return fio(device, "--rw=randread", "--bs=4k", "--size=1g", "--iodepth=64", "--norandommap",
               f"--io_size={count * 4096}")


def moved(said):
    """Errors, and requests written and read, of fio's answer."""
    job, = json.loads(said[said.index("{"):])["jobs"]
    return job["error"], job["write"]["total_ios"], job["read"]["total_ios"]

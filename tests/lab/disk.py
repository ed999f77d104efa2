# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A file system on a disk that one guest has from another one by NVMe over RDMA."""

import contextlib

from . import nvme


@contextlib.contextmanager
def mounted(guest, target, size=256):
    """It is mounted on the guest's /mnt, and has that many megabytes.

    The target listens at all of its addresses, so that it need not be told when its RDMA device
    comes again.  In the end the file system must be without a fault.
    """
    nvme.target_start(target, size, address="0.0.0.0")
    guest.run("modprobe nvme-rdma")
    nvme.connect(guest, target, "--reconnect-delay=1")
    try:
        guest.run(f"mkfs.ext4 -q {nvme.DEVICE} && mount {nvme.DEVICE} /mnt")
        yield
        guest.run(f"umount /mnt && e2fsck -fn {nvme.DEVICE}", timeout=120)
    finally:
        guest.run("umount /mnt; rm -f /tmp/data", check=False)
        nvme.disconnect(guest)
        nvme.target_end(target)


class Copy:
    """Megabytes that are written to /mnt, from when this is made on."""

    def __init__(self, guest, megabytes):
        self.guest = guest
        guest.run(f"head -c {megabytes}M /dev/urandom > /tmp/data", timeout=120)
        # The page cache does not take all of it at once.
        self.copy = guest.popen("rm -f /mnt/data && dd if=/tmp/data of=/mnt/data bs=256k"
                                " oflag=direct status=none && sync")
        guest.wait_until("[ -s /mnt/data ]")

    def assert_under_way(self):
        """It has not ended."""
        assert self.copy.poll() is None, f"{self.copy.stdout}{self.copy.stderr}"

    def wait(self, timeout=300):
        """It ends well, and what is read back, past the page cache, is what was written."""
        self.copy.wait(timeout, check=True)
        self.guest.run("echo 3 > /proc/sys/vm/drop_caches && cmp /tmp/data /mnt/data",
                       timeout=timeout)

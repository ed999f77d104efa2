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
        guest.run("umount /mnt; rm -f /tmp/data /tmp/noise", check=False)
        nvme.disconnect(guest)
        nvme.target_end(target)


# Each round has other data, so that a block of the round before is not taken for its own.
_COPY = """
n=0
until [ -e /tmp/enough ]; do
    tail -c +$((n += 4096)) /tmp/noise | head -c MEGABYTESM > /tmp/data && rm -f /mnt/data &&
    dd if=/tmp/data of=/mnt/data bs=256k FLAGS status=none && sync &&
    echo 3 > /proc/sys/vm/drop_caches && cmp /tmp/data /mnt/data || exit 1
done
"""


class Copy:
    """Megabytes that are written to /mnt, from when this is made until wait().

    This is done again and again, and compared each time, past the page cache.
    """

    def __init__(self, guest, megabytes, flags="oflag=direct"):
        self.guest = guest
        guest.run(f"rm -f /tmp/enough && head -c {megabytes + 1}M /dev/urandom > /tmp/noise",
                  timeout=120)
        # The page cache does not take all of it at once.
        self.copy = guest.popen(_COPY.replace("MEGABYTES", str(megabytes))
                                .replace("FLAGS", flags))
        guest.wait_until("[ -s /mnt/data ]")

    def assert_under_way(self):
        """It has not ended."""
        assert self.copy.poll() is None, f"{self.copy.stdout}{self.copy.stderr}"

    def wait(self, timeout=300):
        """It ends well: with all that was written in the last round, and in those before."""
        self.assert_under_way()
        self.guest.run("touch /tmp/enough")
        self.copy.wait(timeout, check=True)
        self.guest.run("rm /tmp/enough /tmp/noise")

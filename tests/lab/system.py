# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A guest as its distribution starts it: systemd, udev, an initramfs of its own."""

import functools
import pathlib

from . import paths
from .guest import Guest


@functools.cache
def images(release=None):
    """The directory that system-image.sh fills, for Debian 13 or another release."""
    form = release or ("long" if paths.LONG else "short")
    return pathlib.Path(paths.script("images/system-image.sh", form)[0])


class System(Guest):
    """A Debian on which apt has installed our packages, in a state of system-image.sh.

    initrd      which of the initramfs that are there
    """

    def __init__(self, name, state, devices, release=None, initrd="initrd"):
        super().__init__(name, 1, devices, install=False, boot=True)
        self.state = state
        self.release = release
        self.initrd = initrd

    def image(self):
        """The files that it boots: kernel, disk, initramfs."""
        directory = images(self.release) / self.state
        return [directory / name for name in ("vmlinuz", "disk.img", self.initrd)]

    def mount_share(self):
        """Where put() has its files: guests of the lab mount it themselves.

        udev may be loading the driver.  mount would find its transport, which is there before
        its devices are; modprobe waits until both are.
        """
        self.run("mountpoint -q /mnt/share || { mkdir -p /mnt/share && modprobe 9pnet_virtio &&"
                 " mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 share /mnt/share; }")

    def as_user(self, command, **arguments):
        """Runs a command line as an ordinary user who has logged in."""
        return self.run(["su", "-l", "user", "-c", command], **arguments)

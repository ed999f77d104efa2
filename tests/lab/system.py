# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A guest as its distribution starts it: systemd, udev, an initramfs of its own."""

import functools
import pathlib

from . import paths
from .guest import Guest


@functools.cache
def images():
    """The directory that system-image.sh fills."""
    return pathlib.Path(paths.script("system-image.sh", *(["long"] if paths.LONG else []))[0])


class System(Guest):
    """A Debian 13 on which apt has installed our packages, in a state of system-image.sh."""

    def __init__(self, name, state, devices):
        super().__init__(name, 1, devices, install=False, boot=True)
        self.state = state

    def image(self):
        """What it boots: kernel, disk, initramfs."""
        return [images() / self.state / name for name in ("vmlinuz", "disk.img", "initrd")]

    def as_user(self, command, **arguments):
        """Runs a command line as an ordinary user who has logged in."""
        return self.run(["su", "-l", "user", "-c", command], **arguments)

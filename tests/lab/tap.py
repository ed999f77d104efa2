# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A tap interface in a network namespace of its own.

Of QEMU's own back ends only tap supports the segmentation offloads that make an
ordinary virtio-net device offer feature bit 55.
"""

import ctypes
import fcntl
import os
import struct

_CLONE_NEWNET = 0x40000000
_TUNSETIFF = 0x400454CA
_IFF_TAP_NO_PI_VNET_HDR = 0x0002 | 0x1000 | 0x4000

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def open_tap():
    """The file descriptor of a tap interface; closing it removes interface and namespace."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _check(_libc.unshare(_CLONE_NEWNET))
        try:
            tap = os.open("/dev/net/tun", os.O_RDWR)
            fcntl.ioctl(tap, _TUNSETIFF,
                        struct.pack("16sH22x", b"tap0", _IFF_TAP_NO_PI_VNET_HDR))
        finally:
            _check(_libc.setns(home, 0))
    finally:
        os.close(home)
    return tap

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The usual arrangement: one daemon, two guests on its switch."""

import contextlib

from .daemon import Daemon
from .devices import Limits, roce_device
from .guest import Guest


class Pair:
    """Guests a and b, and their daemon.  The modules are not loaded."""

    def __init__(self, name="", *, limits=Limits(), pcap=False, uplink=False,
                 daemon_arguments=(), binary=None, guest=Guest, **arguments):
        prefix = f"{name}-" if name else ""
        self.daemon = Daemon(f"{prefix}daemon", limits=limits, pcap=pcap, uplink=uplink,
                             arguments=daemon_arguments, binary=binary)
        self.limits = limits
        self.names = (f"{prefix}a", f"{prefix}b")
        self.guest_class = guest
        self.guest_arguments = arguments

    def start(self):
        """Starts all, the guests side by side, and waits until they are ready."""
        self.daemon.start()
        self.guests = [
            self.guest_class(name, number, [roce_device(socket, self.limits)],
                             **self.guest_arguments)
            for number, (name, socket) in enumerate(zip(self.names, self.daemon.sockets), 1)
        ]
        self.a, self.b = self.guests
        for guest in self.guests:
            guest.start()
        for guest in self.guests:
            guest.wait_ready()
        return self

    def alive(self):
        """Daemon and guests run."""
        return self.daemon.alive() and all(guest.alive() for guest in self.guests)

    def parts(self):
        """The parts to be stopped, in this order."""
        return (*self.guests, self.daemon)

    def load_modules(self):
        """Loads the modules in both guests, unless they are loaded."""
        for guest in self.guests:
            if guest.run("test -d /sys/module/virtio_roce", check=False).rc != 0:
                guest.load_modules()

    def stop(self):
        """Ends all."""
        for guest in self.guests:
            guest.begin_last_look()
        with contextlib.ExitStack() as stack:  # all of them, even if one fails
            stack.callback(self.daemon.stop)
            for guest in self.guests:
                stack.callback(guest.stop)

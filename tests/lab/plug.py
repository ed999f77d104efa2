# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A device that is plugged into a running guest, on the port that guests have for it."""

import contextlib
import time

from .daemon import Daemon
from .devices import roce_properties
from .guest import Guest
from .patience import Deadline
from .kernellog import Known
from .qmp import QmpError

# The RDMA devices of a guest.
COUNT = "ls /sys/class/infiniband | wc -l"

# When the function has gone, ib_core gives a process that reads a read-only mapping the
# zero page (rdma_umap_fault), as an ordinary page.  DEBUG_VM warns of that when the page
# is mapped and unmapped.  The reference counts are right, so this is harmless.  A driver
# could prevent it only by leaving the used rings and the completions VM_MAYWRITE, and
# then a process could make them writable.
ZERO_PAGE = (
    Known("VM_WARN_ON_FOLIO(is_zero_folio(folio))", "folio_add_file_rmap_ptes",
          "finish_fault", "Comm: ibv_rc_pingpong"),
    Known("vm_normal_page", "unmap_page_range", "Comm: ibv_rc_pingpong"),
    Known("VM_WARN_ON_FOLIO(is_zero_folio(folio))", "folio_remove_rmap_ptes",
          "unmap_page_range", "Comm: ibv_rc_pingpong"),
)


def plug(guest, daemon, socket=None):
    """Plugs in the daemon's first device, or that of a socket; waits until RDMA has it."""
    guest.qmp("chardev-add", id="plugged-socket", backend={
        "type": "socket", "data": {"addr": {
            "type": "unix", "data": {"path": str(socket or daemon.sockets[0])}}, "server": False}})
    guest.qmp("device_add", **roce_properties("plugged-socket"), id="plugged", bus="port0")
    guest.wait_output(COUNT, "1")


def unplug(guest):
    """The reverse."""
    guest.qmp("device_del", id="plugged")
    guest.wait_output(COUNT, "0")
    guest.wait_output("ls /sys/class/net | grep -c ^en", "0")
    deadline = Deadline(20)
    while any(entry["name"] == "plugged" for entry in
              guest.qmp("qom-list", path="/machine/peripheral")):
        assert not deadline.over(), "QEMU keeps the device"
        time.sleep(0.1)
    while True:  # the device lets go of it some time later
        try:
            return guest.qmp("chardev-remove", id="plugged-socket")
        except QmpError:
            assert not deadline.over(), "QEMU keeps the socket"
            time.sleep(0.1)


# Slot Control of the port: power controller off.
_POWER_OFF = "setpci -d 1b36:000c CAP_EXP+0x18.w={}:400"


def pull_out(guest):
    """The port's power goes: the function is not on the bus any more.

    The guest's kernel is not told, because it manages this port by ACPI.
    """
    guest.run(_POWER_OFF.format(400))


def push_in(guest):
    """The power and the function are back, as after a reset."""
    guest.run(_POWER_OFF.format(0) + " && echo 1 > /sys/bus/pci/rescan")
    guest.wait_output(COUNT, "1")


class PlugPair:
    """A guest with an empty port and our modules, and a daemon for what is plugged in."""

    def __init__(self, name, number):
        self.name = name
        self.new_daemon()
        self.guest = Guest(name, number).start().wait_ready()
        self.guest.run("modprobe -a virtio_roce ib_uverbs rdma_ucm")

    def new_daemon(self):
        """Another one, since the last one has ended."""
        self.daemon = Daemon(f"{self.name}-daemon", guests=1).start()

    def plug(self):
        """With an address."""
        plug(self.guest, self.daemon)
        self.guest.configure_network()

    def unplug(self):
        """The reverse."""
        unplug(self.guest)

    def alive(self):
        """Daemon and guest run."""
        return self.daemon.alive() and self.guest.alive()

    def parts(self):
        """The parts to be stopped, in this order."""
        return self.guest, self.daemon

    def stop(self):
        """Ends all."""
        with contextlib.ExitStack() as stack:  # all of them, even if one fails
            for part in reversed(self.parts()):
                stack.callback(part.stop)

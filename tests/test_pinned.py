# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A guest whose addresses the operator has pinned: what its kernel makes of that."""

import pytest

from lab.daemon import Daemon
from lab.guest import Guest
from lab.pingpong import gid_text, pingpong
from lab.plug import plug

MAC = "52:54:00:77:00:08"
FORGED = "52:54:00:77:00:99"
OTHER = "10.77.0.99"

# Sends an ARP request: source address of the frame, addresses of the sender in it.
ARP = """
import socket, struct, sys
device, source, mac, address = sys.argv[1:]
mac_bytes = lambda text: bytes.fromhex(text.replace(":", ""))
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
wire.bind((device, 0))
wire.send(b"\\xff" * 6 + mac_bytes(source) + struct.pack("!HHHBBH", 0x806, 1, 0x800, 6, 4, 1)
          + mac_bytes(mac) + socket.inet_aton(address) + bytes(6)
          + socket.inet_aton("10.77.0.77") + bytes(18))
"""


@pytest.fixture(scope="module", name="pinned")
def _pinned():
    """A guest with one MAC address and one IPv4 address of its own; its daemon."""
    guest = Guest("pinned", 8)
    daemon = Daemon("pinned-daemon", guests=1,
                    pins=[f",mac={MAC},gid={guest.address}"]).start()
    guest.start().wait_ready()
    guest.run("modprobe -a virtio_roce ib_uverbs")
    plug(guest, daemon)
    guest.configure_network()
    yield guest, daemon
    guest.stop()
    daemon.stop()


def test_spoofed_frames_are_dropped(pinned):
    """Frames in another's name, by Ethernet or by ARP, get nowhere and are counted."""
    guest, daemon = pinned
    interface = guest.interface()
    port, = (name for name, counters in daemon.stats().items() if "port_spoofed" in counters)

    def spoofed(*arguments):
        def count():
            return daemon.stats()[port]["port_spoofed"]
        before = count()
        guest.run(["python3", "-c", ARP, interface, *arguments])
        # The kernel's own frames count as well, if they are of a forged address.
        return count() - before

    assert spoofed(FORGED, FORGED, OTHER) >= 1
    assert spoofed(FORGED, MAC, guest.address) >= 1
    assert spoofed(MAC, MAC, OTHER) >= 1
    assert spoofed(MAC, FORGED, guest.address) >= 1
    assert spoofed(MAC, MAC, guest.address) == 0
    # The driver is refused another address, and keeps its own.
    assert guest.run(f"ip link set {interface} address {FORGED}", check=False).rc != 0
    assert guest.run(f"cat /sys/class/net/{interface}/address").stdout.strip() == MAC


def test_gid_of_another_is_refused(pinned):
    """The address is there, its GID is not; what the guest may use is there and works."""
    guest, daemon = pinned
    interface = guest.interface()
    gids = f"cat /sys/class/infiniband/{guest.rdma_device()}/ports/1/gids/*"
    guest.run(f"ip addr add {OTHER}/32 dev {interface}")
    # RDMA hears of addresses in order: when this one has its GID, that one was tried.
    guest.run(f"ip addr del {guest.address}/24 dev {interface}")
    guest.wait_until(f"! {gids} | grep -q {gid_text(guest.address)}")
    guest.configure_network()
    guest.wait_until(f"{gids} | grep -q {gid_text(guest.address)}")
    assert gid_text(OTHER) not in guest.run(gids).stdout
    guest.run(f"ip addr del {OTHER}/32 dev {interface}")
    assert "ADD_GID" in daemon.log.read_text()
    pingpong(guest, guest, iterations=200)

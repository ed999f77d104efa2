# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A daemon without a keeper dies, and QEMU connects to the next one.

That takes the last patch of upstream/qemu.  Stock QEMU lets the device go for good.
"""

import pytest

import lab
from lab.migration import NOT_BUILT, MovingGuest, patched_qemu
from lab.pingpong import PingPong, pingpong
from lab.plug import COUNT

ROUNDS = 20 if lab.paths.LONG else 2


@pytest.fixture(scope="module", name="pair")
def _pair():
    """A daemon, and two guests whose QEMU connects again."""
    if not patched_qemu():
        pytest.skip(NOT_BUILT)
    daemon = lab.Daemon("again", guests=2).start()
    guests = [MovingGuest(f"again-{name}", number,
                          lab.roce_device(f"{socket},reconnect-ms=200"))
              for number, (name, socket) in enumerate(zip("ab", daemon.sockets), 5)]
    for guest in guests:
        guest.start()
    for guest in guests:
        guest.wait_ready().load_modules()
    yield daemon, *guests
    for part in (*guests, daemon):
        part.stop()


def ping(guest, other, timeout=60):
    """Waits until it is answered."""
    guest.wait_until(f"ping -q -c 1 -W 1 {other.address}", timeout)


def test_daemon_dies_and_another_comes(pair):
    """Ethernet goes on; programs end, as their objects are lost, and others can begin."""
    daemon, a, b = pair
    for _ in range(ROUNDS):
        events = PingPong(a, b, iterations=100000000, events=True)
        events.wait_connected()
        daemon.crash()
        # Nobody is there: the guests look at their devices all the same.
        for guest in (a, b):
            guest.run(f"cat /sys/class/net/{guest.interface()}/carrier; ethtool"
                      f" {guest.interface()} > /dev/null", check=False)
        daemon.start()
        ping(a, b)
        for end in (events.client, events.server):
            assert end.wait(90).rc > 0
        for guest in (a, b):
            guest.forget()
            guest.wait_output(COUNT, "1", 60)
            guest.wait_until("rdma link | grep -q 'state ACTIVE'", 60)
        ping(a, b)
        pingpong(a, b, iterations=200, validate=True)
        pingpong(b, a, iterations=200, validate=True)
    assert a.alive() and b.alive()


def test_reset_while_nobody_is_there(pair):
    """The guest stops its device and starts it again, before there is another daemon."""
    daemon, a, b = pair
    function = a.run("ls -d /sys/bus/pci/drivers/virtio_net_roce/0000:*").stdout.strip()
    name = function.rsplit("/", 1)[1]
    daemon.crash()
    a.run(f"echo {name} > /sys/bus/pci/drivers/virtio_net_roce/unbind", timeout=120)
    bound = a.popen(f"echo {name} > /sys/bus/pci/drivers/virtio_net_roce/bind")
    daemon.start()
    bound.wait(120)
    if bound.poll():  # the device did not answer in time
        a.run(f"echo {name} > /sys/bus/pci/drivers/virtio_net_roce/bind")
    for guest in (a, b):
        guest.forget()
        guest.wait_output(COUNT, "1", 60)
        guest.configure_network()
        guest.wait_until("rdma link | grep -q 'state ACTIVE'", 60)
    ping(a, b)
    pingpong(a, b, iterations=200, validate=True)

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A daemon without a keeper dies, and QEMU connects to the next one.

That takes the last patch of upstream/qemu.  Stock QEMU lets the device go for good.
"""

import time

import pytest

import lab
from lab.migration import NOT_BUILT, MovingGuest, patched_qemu
from lab.patience import Deadline
from lab.pingpong import PingPong, pingpong
from lab.plug import COUNT

ROUNDS = 20 if lab.paths.LONG else 2

# How often the driver has heard of it.
LOST = "dmesg | grep -c 'has lost its RDMA objects'"


@pytest.fixture(scope="module", name="trio")
def _trio():
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
        guest.wait_ready()
    # The device is virtio_net's, which knows nothing of RDMA.
    daemon.crash()
    daemon.start()
    for guest in guests:
        guest.load_modules()
    yield daemon, *guests
    for part in (*guests, daemon):
        part.stop()


def losses(*guests):
    """How often each of them has heard that its objects are lost."""
    return {guest: int(guest.run(LOST, check=False).stdout) for guest in guests}


def come_back(a, b, before):
    """Ethernet goes on, those that have lost their objects hear that, and RDMA works."""
    for guest, number in before.items():
        guest.wait_until(f"[ $({LOST}) -gt {number} ]", 90)
    for guest in (a, b):
        guest.forget()
        guest.wait_output(COUNT, "1", 60)
        guest.wait_until("rdma link | grep -q 'state ACTIVE'", 60)
    a.wait_until(f"ping -q -c 1 -W 1 {b.address}", 60)
    pingpong(a, b, iterations=200, validate=True)
    pingpong(b, a, iterations=200, validate=True)
    assert a.alive() and b.alive()


def function_of(guest):
    """The directory of its driver, and the name of its function there."""
    path = guest.run("ls -d /sys/bus/pci/drivers/virtio_net_roce/0000:*").stdout.strip()
    return path.rsplit("/", 1)


def test_daemon_dies_and_another_comes(trio):
    """Programs end, as their objects are lost, and others can begin."""
    daemon, a, b = trio
    for number in range(ROUNDS):
        before = losses(a, b)
        events = PingPong(a, b, iterations=100000000, events=True)
        events.wait_connected()
        daemon.crash()
        # Nobody is there: the guests look at their devices all the same.
        for guest in (a, b):
            guest.run(f"cat /sys/class/net/{guest.interface()}/carrier; ethtool"
                      f" {guest.interface()} > /dev/null", check=False)
        if number % 2:  # for longer than the driver's watchdog waits between its questions
            time.sleep(8)
        daemon.start()
        for end in (events.client, events.server):
            assert end.wait(90).rc > 0
        come_back(a, b, before)


def test_daemons_that_die_at_once(trio):
    """They die while QEMU connects to them and starts the device."""
    daemon, a, b = trio
    before = losses(a, b)
    for number in range(60 if lab.paths.LONG else 12):
        daemon.crash()
        daemon.start()
        # QEMU connects within 200 ms.
        time.sleep(number % 12 * 0.02)
    come_back(a, b, before)


def test_reset_while_nobody_is_there(trio):
    """The guest stops its device and starts it again, before there is another daemon."""
    daemon, a, b = trio
    driver, name = function_of(a)
    before = losses(b)
    daemon.crash()
    a.run(f"echo {name} > {driver}/unbind", timeout=120)
    bound = a.popen(f"echo {name} > {driver}/bind")
    # DRIVER_OK, without anybody who could start a queue.
    a.wait_until(f"(( $(cat /sys/bus/pci/devices/{name}/virtio*/status) & 4 ))", 60)
    daemon.start()
    bound.wait(120)
    if bound.poll():  # the device did not answer in time
        a.run(f"echo {name} > {driver}/bind")
    a.configure_network()
    come_back(a, b, before)


def test_daemon_dies_unused(trio):
    """The device of one guest has no driver."""
    daemon, a, b = trio
    driver, name = function_of(a)
    before = losses(b)
    a.run(f"echo {name} > {driver}/unbind", timeout=120)
    daemon.crash()
    daemon.start()
    deadline = Deadline(30)
    while daemon.log.read_text().count(": connected") < 2:
        assert not deadline.over(), daemon.tail()
        time.sleep(0.05)
    a.run(f"echo {name} > {driver}/bind", timeout=120)
    a.configure_network()
    come_back(a, b, before)


@pytest.mark.parametrize("taken_over", [False, True])
def test_daemon_dies_while_the_machine_is_stopped(trio, taken_over):
    """The device is not started before the machine runs; an upgrade meanwhile forgets nothing."""
    daemon, a, b = trio
    before = losses(a, b)
    a.qmp("stop")
    daemon.crash()
    daemon.start()
    b.wait_until(f"[ $({LOST}) -gt {before[b]} ]", 90)
    if taken_over:
        daemon.take_over()
    a.qmp("cont")
    come_back(a, b, before)


@pytest.mark.skipif(not lab.paths.LONG, reason="it takes two minutes")
def test_daemon_comes_late(trio):
    """The drivers have given the device up, and are told to try again."""
    daemon, a, b = trio
    daemon.crash()
    for guest in (a, b):
        guest.wait_until("dmesg | grep -q 'not restarted without a sign of life'", 180)
    daemon.start()
    for guest in (a, b):
        driver, name = function_of(guest)
        guest.run(f"cd {driver}; echo {name} > unbind; echo {name} > bind", timeout=120)
        guest.configure_network()
    come_back(a, b, {})


def test_not_moved_while_nobody_is_there(trio, tmp_path):
    """Nobody can be asked for the state: the guest stays, and goes on."""
    daemon, a, b = trio
    before = losses(a, b)
    daemon.crash()
    with pytest.raises(AssertionError, match="failed"):
        a.save(tmp_path / "state", tmp_path / "disk")
    assert "pre-save" in str(a.status) + a.qemu_log(), str(a.status)
    deadline = Deadline(30)
    while a.qmp("query-status")["status"] != "running":
        assert not deadline.over(), a.qemu_log()
        time.sleep(0.1)
    daemon.start()
    come_back(a, b, before)

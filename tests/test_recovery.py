# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A device that dies, hangs, is reset, sleeps or is pulled out, with RDMA in use."""

import contextlib
import re
import signal
import time

import pytest

from lab import paths
from lab.longform import mostly_long
from lab.memory import memory, memory_lost
from lab.nvme import DEVICE, connect, disconnect, target_end, target_listen_again, target_start
from lab.patience import Deadline
from lab.pingpong import PORT, PingPong, pingpong
from lab.plug import COUNT, ZERO_PAGE, PlugPair, pull_out, push_in

# How often programs lose their device; the daemon is killed in all rounds but the first.
ROUNDS = 51 if paths.LONG else 2


@pytest.fixture(scope="module", name="plugged")
def _plugged(module_plug_pair):
    module_plug_pair.guest.expect_reports(*ZERO_PAGE)
    module_plug_pair.plug()
    yield module_plug_pair
    module_plug_pair.unplug()


def start_load(guest):
    """Programs that sleep and programs that poll; they never end by themselves."""
    runs = [PingPong(guest, guest, iterations=100000000, events=events, port=port)
            for events, port in ((True, PORT), (False, PORT + 1))]
    for run in runs:
        run.wait_connected()
    return [end for run in runs for end in (run.client, run.server)]


@contextlib.contextmanager
def asleep(ends):
    """Programs that poll for an end half a minute away leave the processors to others."""
    for end in ends:
        end.kill(signal.SIGSTOP)
    try:
        yield
    finally:
        for end in ends:
            end.kill(signal.SIGCONT)


@contextlib.contextmanager
def stopped(daemon):
    """The daemon's process stands still; it goes on also if the body fails."""
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def start_nvme(guest):
    """The guest reads its own namespace over RDMA; without an end."""
    target_start(guest, size=16)
    guest.run("modprobe nvme-rdma")
    # Else whoever reads, udev for one, waits until there is a connection again.
    connect(guest, guest, "--reconnect-delay=1", "--fast_io_fail_tmo=1")
    return [guest.popen(f"while dd if={DEVICE} of=/dev/null bs=64k iflag=direct status=none;"
                        " do :; done; exit 1")]


def start_rping(guest):
    """A program that uses the connection manager, with itself; without an end."""
    server = guest.popen(["rping", "-s", "-a", guest.address])
    guest.wait_until("rdma resource show cm_id | grep 'state LISTEN' | grep -q rping")
    client = guest.popen(["rping", "-c", "-a", guest.address, "-C", "100000000"])
    guest.wait_until("rdma resource show qp | grep rping | grep -q 'state RTS'")
    return [client, server]


def end_nvme(guest):
    """The block device goes by itself; ends the target."""
    guest.wait_until(f"[ ! -e {DEVICE} ]", 60)
    target_end(guest)
    guest.run("modprobe -r nvme-rdma")


def wait_ended(ends, timeout=60):
    """All of them, with an error of their own, not killed."""
    for end in ends:
        result = end.wait(timeout)
        assert result.rc > 0, str(result)


def wait_device(guest, timeout=60):
    """The RDMA device is there, with a port that is up."""
    guest.forget()
    guest.wait_output(COUNT, "1", timeout)
    guest.wait_until("rdma link | grep -q 'state ACTIVE'", timeout)


@pytest.mark.long
@pytest.mark.debug_kernel
def test_daemon_killed_under_load(plugged):
    """Programs end, memory comes back, the next device works; again and again.

    In the first round the daemon lives while the device is unplugged.
    """
    guest = plugged.guest
    before = None
    for number in range(ROUNDS):
        ends = start_load(guest)
        if number > 0:
            plugged.daemon.crash()
        plugged.unplug()
        wait_ended(ends)
        if number > 0:
            plugged.new_daemon()
        plugged.plug()
        pingpong(guest, guest, iterations=200, validate=True)
        if number == 0:
            before = memory(guest)
    # A ping-pong's rings and regions alone are 1 MB in each round.
    allowed = 8192 + 100 * ROUNDS
    lost = memory_lost(guest, before, allowed)
    print(f"volume: killed {ROUNDS - 1} times, {lost} kB lost")
    assert lost < allowed, f"{lost} kB lost in {ROUNDS - 1} rounds"


def test_daemon_dead_is_noticed(plugged):
    """Nobody unplugs it: programs and reads end, the link goes down, QEMU lives.

    NVMe, which goes on trying, is connected again when there is a device and a target.
    """
    guest = plugged.guest
    ends, reads, log = start_load(guest), start_nvme(guest), guest.dmesg()
    interface = guest.interface()
    plugged.daemon.crash()
    # A question every 5 s, 30 s for an answer, 30 s for a sign of life.
    with asleep(ends):
        guest.wait_output(f"cat /sys/class/net/{interface}/carrier", "0", 60)
        wait_ended(reads, 90)
    wait_ended(ends, 90)
    guest.wait_output(COUNT, "0", 60)
    assert "not restarted without a sign of life" in guest.dmesg().removeprefix(log)
    # The network does not harm the machine, whoever uses it.
    guest.run(f"ip link set {interface} down && ip link set {interface} up &&"
              f" ip link set {interface} promisc on", check=False)
    guest.run(f"ethtool -S {interface}; ip -s link show {interface}")
    assert guest.alive()
    plugged.unplug()
    plugged.new_daemon()
    plugged.plug()
    pingpong(guest, guest, iterations=200, validate=True)
    target_listen_again(guest)
    guest.wait_until("grep -qx live /sys/class/nvme/nvme*/state", 60)
    guest.run(f"dd if={DEVICE} of=/dev/null bs=64k count=16 iflag=direct")
    disconnect(guest)
    end_nvme(guest)


def test_unplugged_under_load(plugged):
    """NVMe reads, programs run, the connection manager is in use; all of them end."""
    guest = plugged.guest
    for _ in range(5 if paths.LONG else 1):
        ends = start_load(guest) + start_rping(guest) + start_nvme(guest)
        plugged.unplug()
        wait_ended(ends)
        end_nvme(guest)
        plugged.plug()
        pingpong(guest, guest, iterations=200, validate=True)


@pytest.mark.long
def test_pulled_out_under_load(plugged):
    """Without a word to the guest, whose driver finds out by itself within 5 s."""
    guest = plugged.guest
    function = guest.run("ls -d /sys/bus/pci/drivers/virtio_net_roce/0000:*").stdout.strip()
    ends, log = start_load(guest) + start_rping(guest), guest.dmesg()
    pull_out(guest)
    wait_ended(ends)
    guest.wait_output(COUNT, "0", 30)
    assert "the device is gone" in guest.dmesg().removeprefix(log)
    guest.run(f"echo 1 > {function}/remove")
    push_in(guest)
    guest.configure_network()
    pingpong(guest, guest, iterations=200, validate=True)


def configure_more(guest):
    """A MAC address, VLAN, receive mode and MTU of its own; what they look like."""
    interface = guest.interface()
    guest.run(f"ip link set {interface} address 52:54:00:ab:cd:77 mtu 1400 promisc on &&"
              f" ip link add link {interface} name vlan7 type vlan id 7 &&"
              f" ip maddr add 01:00:5e:11:22:33 dev {interface}")
    guest.forget()
    return state(guest)


def state(guest):
    """The state, which must be as before: all ip tells, but for the link's flags and counters."""
    interface = guest.interface()
    text = guest.run(f"ip -o link show {interface}; ip -o addr show {interface} scope global;"
                     f" ip route; ip maddr show {interface} | grep 01:00:5e:11;"
                     " cat /proc/net/vlan/vlan7 | head -1").stdout
    return re.sub(r"qlen \d+|valid_lft \S+|preferred_lft \S+", "", text)


def unconfigure_more(guest):
    """The reverse."""
    interface = guest.interface()
    guest.run(f"ip link del vlan7; ip link set {interface} promisc off mtu 1500;"
              f" ip maddr del 01:00:5e:11:22:33 dev {interface}")


def restarts(guest):
    """How often the driver has restarted the function."""
    return int(guest.run("dmesg | grep -c 'virtio_net_roce.*: restarted'", check=False).stdout)


@contextlib.contextmanager
def restarted(guest):
    """The body makes the driver restart the function: all is as before then.

    Under load, whose programs it is given: they end.  The interface is as it was, the RDMA device has its name.
    """
    name, before = guest.rdma_device(), configure_more(guest)
    ends, number = start_load(guest), restarts(guest)
    yield ends
    wait_ended(ends)
    guest.wait_until(f"[ $(dmesg | grep -c 'virtio_net_roce.*: restarted') -gt {number} ]", 60)
    wait_device(guest)
    assert guest.rdma_device() == name
    assert state(guest) == before
    pingpong(guest, guest, iterations=200, validate=True)
    unconfigure_more(guest)


def test_function_level_reset(plugged):
    """By sysfs."""
    guest = plugged.guest
    reset = guest.run("ls -d /sys/bus/pci/drivers/virtio_net_roce/0000:*/reset").stdout.strip()
    for _ in range(5 if paths.LONG else 1):
        with restarted(guest):
            guest.run(f"echo 1 > {reset}")


def test_suspend(plugged):
    """As far as it goes without a machine that sleeps: devices are suspended."""
    guest = plugged.guest
    if guest.run("test -w /sys/power/pm_test", check=False).rc:
        pytest.skip("the kernel has no CONFIG_PM_DEBUG")
    with restarted(guest):
        guest.run("echo devices > /sys/power/pm_test && echo mem > /sys/power/state", timeout=120)


def test_daemon_hangs_and_goes_on(plugged):
    """Until it is given up, which takes half a minute; it is started again when it answers."""
    guest, daemon = plugged.guest, plugged.daemon
    with restarted(guest) as ends:
        carrier = f"cat /sys/class/net/{guest.interface()}/carrier"
        with stopped(daemon), asleep(ends):
            # A question every 5 s, 30 s for an answer; and a busy machine.
            guest.wait_output(carrier, "0", 120)


@pytest.mark.long
def test_daemon_pauses(plugged):
    """For three seconds, while connections are made: nothing is given up, and all goes on."""
    guest, daemon = plugged.guest, plugged.daemon
    ends, number, log = start_load(guest), restarts(guest), guest.dmesg()
    server = guest.popen(["rping", "-s", "-P", "-a", guest.address])
    guest.wait_listening_cm()
    # A connection that meets the pause may fail.
    clients = guest.popen(f"while :; do rping -c -a {guest.address} -C 1 && echo connected; done")
    for _ in range(3):
        clients.wait_output("connected")
        with stopped(daemon):
            time.sleep(3)
        clients.output["out"] = ""
    clients.wait_output("connected")
    for end in ends:
        assert end.poll() is None, f"{end.stdout}{end.stderr}"
    for each in (clients, server, *ends):
        each.kill()
    assert restarts(guest) == number
    assert "does not answer" not in guest.dmesg().removeprefix(log)
    pingpong(guest, guest, iterations=200, validate=True)


def test_link_down_during_restart(plugged):
    """It stays down, whenever it came, and statistics can be read all the time."""
    guest = plugged.guest
    interface = guest.interface()
    reset = guest.run("ls -d /sys/bus/pci/drivers/virtio_net_roce/0000:*/reset").stdout.strip()
    # A line for each ten times.
    reader = guest.popen(f"while ip -s link show {interface} > /dev/null;"
                         " do ((++n % 10)) || echo $n; done; exit 1")
    for delay in range(0, 20 if paths.LONG else 4):
        number, reads = restarts(guest), reader.stdout.count("\n")
        guest.run(f"echo 1 > {reset}; sleep 0.{delay:02}; ip link set {interface} down")
        guest.wait_until(
            f"[ $(dmesg | grep -c 'virtio_net_roce.*: restarted') -gt {number} ]", 60)
        flags = guest.run(f"ip -o link show {interface}").stdout
        assert not re.search(r"<.*\bUP\b.*>", flags), flags
        guest.configure_network()
        deadline = Deadline(30)
        while reader.stdout.count("\n") <= reads:
            assert reader.poll() is None, reader.stderr
            assert not deadline.over(), "nobody has read statistics"
            time.sleep(0.1)
    reader.kill()
    wait_device(guest)
    pingpong(guest, guest, iterations=200, validate=True)


# The driver's own limit for a command, in seconds.
COMMAND_TIMEOUT = 30


def power_off(own):
    """Powers a guest off; returns the seconds that it took."""
    began = time.monotonic()
    own.guest.stop()
    took = time.monotonic() - began
    own.stop()
    return took


@pytest.fixture(scope="module", name="usual_power_off")
def _usual_power_off():
    """The seconds that an idle guest without a device takes for it, beside the same load."""
    return power_off(PlugPair("recovery-idle", 7))


@pytest.mark.parametrize("backend", mostly_long(["alive", "dead"], short=["dead"]))
def test_power_off_under_load(backend, usual_power_off):
    """No command is waited for: it takes less longer than one of them would.

    At a load of 10 it takes 1.4 s, and an idle guest 0.4 s.
    """
    own = PlugPair(f"recovery-{backend}", 7)
    own.plug()
    start_load(own.guest)
    if backend == "dead":
        own.daemon.crash()
    took = power_off(own)
    print(f"volume: {took:.1f} s, an idle guest {usual_power_off:.1f} s")
    assert took < usual_power_off + COMMAND_TIMEOUT / 2

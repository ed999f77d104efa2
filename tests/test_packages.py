# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Our Debian packages, on a Debian that starts as its installer leaves it.

apt has installed them with the disk mounted, natively, since DKMS would take minutes in a
guest without KVM.
"""

import contextlib
import re
import subprocess

import pytest

import lab
from lab import libvirt, nvme, paths
from lab.longform import mostly_long
from lab.networks import NETWORKS
from lab.pingpong import PORT, gid_index
from lab.system import System, images
from lab.talk import Talk

pytestmark = pytest.mark.skipif(paths.DEBUG, reason="it boots a kernel of its own")

ADDRESS = "10.77.0.1"
HOST = "10.77.0.254"
BOOT = 300


@contextlib.contextmanager
def booted(state, release=None, initrd="initrd", make=None):
    """A system in a state of system-image.sh, with a function, and a host on its network."""
    daemon = lab.Daemon("packages", guests=1, namespace="ip link set lo up",
                        arguments=["--uplink", "tap:lab0"]).start()
    daemon.in_namespace(["ip", "address", "add", f"{HOST}/24", "dev", "lab0"])
    daemon.in_namespace(["ip", "link", "set", "lab0", "up"])
    arguments = daemon.control("qemu-args", daemon.sockets[0].name).splitlines()
    system = make(daemon) if make else \
        System(f"system-{release or state}", state, [arguments], release, initrd)
    system.daemon = daemon
    try:
        system.start().wait_ready(BOOT)
        yield system
    finally:
        system.stop()
        daemon.stop()


@pytest.fixture(scope="module")
def system():
    """One that has our packages."""
    with booted("installed") as installed:
        yield installed


def assert_has_network(system):
    """The distribution's network configuration has found the interface."""
    system.wait_until(f"ip -br -4 address | grep -q '^en.* UP .*{ADDRESS}/24'", timeout=60)


def assert_pingpong(system):
    """An ordinary user reaches the same guest by RDMA."""
    device = system.rdma_device()
    index = gid_index(system, device, ADDRESS)
    line = f"ibv_rc_pingpong -d {device} -g {index} -n 200 -c"
    said = system.as_user(f"{line} > /dev/null & until {line} {ADDRESS} 2> /dev/null; do "
                          "sleep 0.2; done; wait", timeout=60)
    assert "200 iters" in said.stdout


def test_start(system):
    """The network is configured, no unit has failed, the device has its name and its modules."""
    assert_has_network(system)
    assert system.run("systemctl --failed --plain --no-legend").stdout == ""
    # Of rdma-core, which has been told what kind of device it is.
    system.wait_until("systemctl -q is-active rdma-hw.target rdma-load-modules@roce.service",
                      timeout=60)
    device = f"/sys/class/infiniband/{system.rdma_device()}"
    bus, slot = system.run(f"basename $(readlink {device}/device)").stdout.split(":")[1:]
    assert system.rdma_device() == f"rocep{int(bus, 16)}s{int(slot.split('.')[0], 16)}"
    assert "ID_RDMA_ROCE=1\n" in system.run(f"udevadm info -q property {device}").stdout


def test_early(system):
    """The module had the function before systemd, so before the network, came."""
    log = system.dmesg()
    taken, systemd = "RoCE device: taking it over", " systemd[1]: "
    assert taken in log and systemd in log, log
    assert log.index(taken) < log.index(systemd), log


def test_connection_survives(system):
    """Taken over early, the interface stays the same, whatever loads the modules again."""
    assert_has_network(system)
    index = f"cat /sys/class/net/{system.interface()}/ifindex"
    before = system.run(index).stdout
    with Talk(system, system.daemon, HOST) as talk:
        # rmmod, because modprobe would take virtio_net_roce away as well.
        system.run("rmmod virtio_roce && udevadm trigger && udevadm settle && "
                   "modprobe -a virtio_net_roce virtio_roce")
        assert system.rdma_device()
        talk.assert_goes_on()
    assert system.run(index).stdout == before
    said = system.run("journalctl -b -q -o cat -u systemd-networkd").stdout
    assert said.count(f"{system.interface()}: Gained carrier") == 1, said


@pytest.mark.skipif(not paths.LONG, reason="perf takes its time")
def test_perf(system):
    """perf finds the tracepoints, by the line that the documentation has."""
    line, = re.findall(r"^  (perf trace .*)", (paths.TOP / "Documentation" / "guest.rst").read_text(),
                       re.MULTILINE)
    server = system.popen(line)
    system.wait_listening(PORT)
    system.run(f"ibv_rc_pingpong -g 1 {ADDRESS}")
    said = server.wait(60, check=True).stderr
    assert re.search(r'vroce_command\(.* name: "CREATE_QP", command: 9, ns: ', said), said
    assert re.search(r"vroce_qp_state\(.* qpn: \d+, from: 2, to: 3", said), said


def test_user(system):
    """An ordinary user runs a ping-pong; a member of the group may pin what he likes."""
    assert_has_network(system)
    assert_pingpong(system)
    limit = system.as_user("ulimit -l").stdout
    assert limit != "unlimited\n"
    system.run(["usermod", "-aG", "rdma", "user"])
    assert system.as_user("ulimit -l").stdout == "unlimited\n"
    system.run(["gpasswd", "-d", "user", "rdma"])


def _assert_reload(system, place):
    """Guests come and go with the file, within what the service's sandbox allows."""
    conf = "/etc/vhost-user-roce/lan.conf"
    control = f"/usr/sbin/vhost-user-roce-ctl {place}/control"
    # By root's hand, with the rights of the others: it stays until it is told what there is.
    system.run(f"{control} guest add {place}/c.sock,gid=192.0.2.3")
    rights = f"stat -c '%U:%G %A' {place}/c.sock"
    others = system.run(f"stat -c '%U:%G %A' {place}/a.sock").stdout
    assert system.run(rights).stdout == others
    # A member of the group may connect a virtual machine, and change nothing.
    system.run(["usermod", "-aG", "vhost-user-roce", "user"])
    assert system.as_user(f"test -w {place}/c.sock && {control} ports", check=False).stderr == \
        f"vhost-user-roce-ctl: {place}/control: Permission denied\n"
    system.run(["gpasswd", "-d", "user", "vhost-user-roce"])
    system.run(f"sed -i 's/--socket b.sock/--socket d.sock/' {conf}"
               " && systemctl reload vhost-user-roce@lan")
    listed = system.run(f"{control} guest list").stdout
    assert [line.split("\t")[0] for line in listed.splitlines()] == ["a.sock", "d.sock"], listed
    assert system.run(f"ls {place}").stdout.split() == ["a.sock", "control", "d.sock"]
    assert system.run(f"stat -c '%U:%G %A' {place}/d.sock").stdout == others
    # A place where its user may write, but not the service.
    system.run("install -d -o vhost-user-roce /srv/sockets && "
               f"sed -i 's,--socket d.sock,--socket /srv/sockets/e.sock &,' {conf}")
    assert system.run("systemctl reload vhost-user-roce@lan", check=False).rc != 0
    assert "/srv/sockets/e.sock: cannot listen: Read-only file system" in \
        system.run("journalctl -o cat -u vhost-user-roce@lan").stdout


# Asks for the features of a device before and after a restart of the daemon, on one connection.
ASK_TWICE = """
    use IO::Socket::UNIX;
    my $qemu = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
    for my $when (0, 1) {
        !$when or !system("systemctl", "restart", $ARGV[1]) or die "not restarted";
        syswrite($qemu, pack("VVV", 1, 1, 0)) == 12 or die;
        sysread($qemu, my $answer, 20) == 20 or die "no answer";
        printf("%x\\n", (unpack("VVVQ<", $answer))[3]);
    }
"""


def _assert_restart(system, place):
    """QEMU's connection stays when the service is restarted; nothing else is left behind."""
    pid = "systemctl show -P MainPID vhost-user-roce@lan"
    before = system.run(pid).stdout
    first, then = system.run(["perl", "-e", ASK_TWICE, f"{place}/a.sock",
                              "vhost-user-roce@lan"]).stdout.split()
    assert first == then
    assert system.run(pid).stdout != before
    assert system.run("systemctl show -P NFileDescriptorStore vhost-user-roce@lan").stdout == "0\n"


SERVICE = "vhost-user-roce@lan"

# As the native guests want it (device/tests/lib/front.h).
NATIVE = ("--socket a.sock --socket b.sock --qps 8 --cqs 4 --queue-size 256 --cqe 256"
          " --event-queues 1 --doorbell-queues 1")

# Each of these happens to the service while guests send messages, which keep their RDMA or lose it.
# The line for the shell ends when another process serves.
EVENTS = {
    "restart": ("keeps", f"systemctl restart {SERVICE}"),
    "upgrade": ("keeps", "dpkg --install /mnt/share/upgrade.deb > /dev/null"),
    "keeper killed": ("keeps", f"systemctl kill -s KILL --kill-whom=main {SERVICE} &&"
                               f" until [ $(systemctl show -P NRestarts {SERVICE}) -gt 0 ] &&"
                               f" systemctl -q is-active {SERVICE}; do sleep 0.2; done"),
    "daemon killed": ("loses", f"keeper=$(systemctl show -P MainPID {SERVICE}) &&"
                               " was=$(pgrep -P $keeper) && kill -KILL $was &&"
                               " while is=$(pgrep -P $keeper) || true;"
                               " [ -z \"$is\" ] || [ $is = $was ]; do sleep 0.1; done"),
}


@pytest.fixture(name="guests")
def _guests(system):
    """The service with two native guests, and its package; the command that runs the guests."""
    system.mount_share()
    program = system.put(paths.SERVICE_GUESTS)
    library, = re.findall(r"libcmocka\S* => (\S+)", subprocess.run(
        ["ldd", paths.SERVICE_GUESTS], check=True, stdout=subprocess.PIPE, text=True).stdout)
    library = system.put(library)
    package, = (paths.BUILD / "packages").glob("vhost-user-roce_*.deb")
    system.put(package, "upgrade.deb")
    system.run("mkdir -p /etc/vhost-user-roce && cat > /etc/vhost-user-roce/lan.conf",
               stdin=f'OPTIONS="{NATIVE}"\n')
    system.run(f"systemctl start {SERVICE}", timeout=90)
    yield ["env", f"LD_LIBRARY_PATH={library.rpartition('/')[0]}", program]
    system.run(f"systemctl stop {SERVICE}", timeout=90)


@pytest.mark.parametrize("event", mostly_long(EVENTS, short=["upgrade", "keeper killed"]))
def test_service_with_guests(system, guests, event):
    """Its guests keep their network over an upgrade, and whichever of its processes is killed."""
    what, line = EVENTS[event]
    sockets = [f"/run/vhost-user-roce/lan/{name}.sock" for name in "ab"]
    main = f"systemctl show -P MainPID {SERVICE}"
    before = system.run(main).stdout
    said = system.run([*guests, what, *sockets, line], timeout=120).stdout
    print(said)
    assert said.startswith(f"{what}: "), said
    assert (system.run(main).stdout == before) == (what == "loses")
    assert system.run(f"systemctl is-active {SERVICE}").stdout == "active\n"
    assert system.run(f"systemctl show -P NFileDescriptorStore {SERVICE}").stdout == "0\n"


def test_service(system):
    """The daemon as a service of systemd: it tells when it is ready, and is well locked up."""
    system.run("install -D -m 644 /usr/share/doc/vhost-user-roce/examples/lan.conf"
               " /etc/vhost-user-roce/lan.conf")
    system.run("systemctl start vhost-user-roce@lan", timeout=90)
    try:
        place = "/run/vhost-user-roce/lan"
        status = system.run("systemctl show -P StatusText vhost-user-roce@lan").stdout
        assert status == "2 guest(s), 20 virtqueues each (num_vqs)\n"
        ports = system.run(f"vhost-user-roce-ctl {place}/control ports").stdout
        assert "a.sock" in ports and "b.sock" in ports
        # The domain of libvirt has what this daemon wants, by the command that it tells.
        line, printed = libvirt.command()
        assert system.run(line).stdout == printed
        # QEMU's user is in the group; others do not even get there.
        assert system.run(f"stat -c '%U:%G %A' {place}/a.sock").stdout == \
            "vhost-user-roce:vhost-user-roce srwxrwx---\n"
        assert system.as_user(f"ls {place}", check=False).rc != 0
        # The lines of this start: other tests have used the service, too.
        ours = "$(systemctl show -P InvocationID vhost-user-roce@lan)"
        journal = f"journalctl -q -o cat _SYSTEMD_INVOCATION_ID={ours} + INVOCATION_ID={ours}"
        log = system.run(f"{journal} -p info..info").stdout
        assert ("sandbox: seccomp, no_new_privs, no capabilities, own mount, network, IPC and UTS"
                " namespaces\n") in log
        assert system.run(f"{journal} -p notice").stdout == ""
        _assert_restart(system, place)
        _assert_reload(system, place)
    finally:
        system.run("systemctl stop vhost-user-roce@lan", timeout=90)
    assert system.run("systemctl show -P Result vhost-user-roce@lan").stdout == "success\n"
    system.run(f"test ! -e {place}")


def _changes_hands(system, driver, command):
    """Another driver gets the function, and its interface the address without being told."""
    system.run(command)
    system.forget()
    system.wait_until(f"[ /sys/class/net/{system.interface()}/device/../driver -ef"
                      f" /sys/bus/pci/drivers/{driver} ]")
    assert_has_network(system)


@pytest.fixture(params=NETWORKS if paths.LONG else NETWORKS[1:2],
                ids=lambda network: network.name)
def network(request, system):
    """One after the other is in charge of the network; in the end the first one again."""
    interface = system.interface()
    NETWORKS[0].stop(system)
    system.run(f"ip address flush dev {interface}; ip link set {interface} down")
    request.param.start(system, interface, ADDRESS)
    yield request.param
    request.param.stop(system)
    NETWORKS[0].start(system, interface, ADDRESS)


@pytest.mark.long
def test_late(system, network):
    """The function changes hands under a configured interface.

    The network configuration gives the new one its address, and a TCP connection goes on.
    """
    assert_has_network(system)
    with Talk(system, system.daemon, HOST) as talk:
        _changes_hands(system, "virtio-pci", "modprobe -r virtio_net_roce virtio_roce")
        talk.assert_goes_on()
        _changes_hands(system, "virtio_net_roce", "modprobe virtio_net_roce")
        talk.assert_goes_on()
        assert gid_index(system, system.rdma_device(), ADDRESS)


def test_purge():
    """Nothing is left of our packages when they have been purged."""
    purged = images() / "purged"
    assert (purged / "left").read_text() == ""
    for initrd in ("initrd.list", "initrd.dracut.list"):
        assert "virtio_net_roce.ko" in (images() / "installed" / initrd).read_text()
    assert "virtio_net_roce" not in (purged / "initrd.list").read_text()


@pytest.mark.skipif(not paths.LONG, reason="two more starts")
def test_other_kernel():
    """Another kernel gets the modules when it is installed."""
    with booted("upgraded") as system:
        assert_has_network(system)
        assert_pingpong(system)


@pytest.mark.skipif(not paths.LONG, reason="two more starts")
def test_plain():
    """Without our packages the function is an ordinary Ethernet interface."""
    with booted("purged") as system:
        assert_has_network(system)
        assert system.run("ls /sys/class/infiniband", check=False).stdout == ""


@pytest.mark.skipif(not paths.LONG, reason="one more start")
def test_dracut():
    """An initramfs that dracut made takes the function over, too."""
    with booted("installed", initrd="initrd.dracut") as system:
        assert_has_network(system)
        assert system.rdma_device()
        # systemd is in it, too, and starts for a second time on the disk.
        log = system.dmesg()
        taken, disk = "RoCE device: taking it over", "systemd[1]: Hostname set to <system>"
        assert taken in log and disk in log, log
        assert log.index(taken) < log.index(disk), log


@pytest.mark.skipif(not paths.LONG, reason="one more start")
def test_libvirt():
    """virsh starts a guest from the domain that we have as an example."""
    with booted("installed", make=lambda daemon: libvirt.Domain("libvirt", daemon)) as system:
        assert_has_network(system)
        assert_pingpong(system)
        system.run(["ping", "-q", "-c", "2", HOST])


def assert_kernel_rdma(system):
    """A consumer in the kernel: NVMe of the system to itself, without a program for it."""
    nvme.target_start(system, 64)
    system.run("modprobe nvme-rdma")
    system.run(f"echo transport=rdma,traddr={ADDRESS},trsvcid=4420,nqn={nvme.NQN} "
               "> /dev/nvme-fabrics")
    system.wait_until(f"[ -b {nvme.DEVICE} ]")
    system.run("dd if=/dev/urandom of=/tmp/data bs=1M count=16 status=none && "
               f"dd if=/tmp/data of={nvme.DEVICE} oflag=direct bs=1M status=none && "
               f"dd if={nvme.DEVICE} iflag=direct bs=1M count=16 status=none | cmp - /tmp/data")
    system.run("echo 1 > /sys/class/nvme/nvme0/delete_controller")
    nvme.target_end(system)


@pytest.mark.skipif(not paths.LONG, reason="a start of each")
@pytest.mark.parametrize("release", ["bookworm", "forky"])
def test_release(release):
    """Debian 12 and the one after 13, with their own kernels."""
    with booted("installed", release) as system:
        print(system.run("uname -r; dpkg-query -W rdma-core libvirtio-roce-ibverbs").stdout)
        assert_has_network(system)
        assert system.run("systemctl --failed --plain --no-legend").stdout == ""
        assert_kernel_rdma(system)
        assert_pingpong(system)
        system.assert_kernel_clean()
    assert (images(release) / "purged" / "left").read_text() == ""

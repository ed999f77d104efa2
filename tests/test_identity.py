# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The device's words about itself: names, attributes, resources, counters."""

import json
import re

import pytest

from lab import Daemon, Guest, Pair, roce_device
from lab.capture import frames
from lab.iperf import iperf
from lab.perftest import by_a_right_clock
from lab.pingpong import PORT, PingPong, gid_index, pingpong

# The names that rdma_rxe uses, and names for what it does not count.
COUNTERS = {
    "sent_pkts", "rcvd_pkts", "sent_bytes", "rcvd_bytes", "rdma_sends", "rdma_writes",
    "rdma_reads", "rdma_recvs", "duplicate_request", "out_of_seq_request", "rcvd_rnr_err",
    "send_rnr_err", "rcvd_seq_err", "ack_deferred", "completer_retry_err",
    "local_ack_timeout_err", "retry_exceeded_err", "retry_rnr_exceeded_err", "send_err",
    "recv_err", "resp_refused", "rcvd_dropped", "rcvd_malformed", "rx_icrc_errors",
    "sent_dropped", "np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled",
    # The guest's own.
    "bad_completions",
}


def counters(guest):
    """The counters of "rdma statistic"."""
    entry, = json.loads(guest.run("rdma -j statistic show").stdout)
    return {name: value for name, value in entry.items() if name in COUNTERS}


def file(guest, name):
    """A file of the device in sysfs."""
    return guest.run(f"cat /sys/class/infiniband/{guest.rdma_device()}/{name}").stdout.strip()


def devinfo(guest):
    """The attributes of "ibv_devinfo -v", by name; the GIDs are left out."""
    return dict(re.findall(r"^\s*(\w+):\s+(.+)$", guest.run("ibv_devinfo -v").stdout,
                           re.MULTILINE))


def node_guid(guest):
    """The GUID is made from the MAC address, as in all Ethernet devices."""
    mac = [int(byte, 16) for byte in
           guest.run(f"cat /sys/class/net/{guest.interface()}/address").stdout.split(":")]
    eui = [mac[0] ^ 2, *mac[1:3], 0xff, 0xfe, *mac[3:]]
    return ":".join(f"{eui[i]:02x}{eui[i + 1]:02x}" for i in range(0, 8, 2))


def test_name_and_uevents(rdma_pair):
    """The name tells the PCI function; udev hears of the device, its port and uverbs."""
    guest = rdma_pair.a
    function = guest.run("ls /sys/bus/pci/drivers/virtio_net_roce | grep 0000:").stdout.strip()
    _, bus, slot = function.split(".")[0].split(":")
    assert guest.rdma_device() == f"rocep{int(bus, 16)}s{int(slot, 16)}"
    assert function in file(guest, "device/uevent")
    guest.run("test -c /dev/infiniband/uverbs0 && test -c /dev/infiniband/rdma_cm")
    guest.run(f"test -e /dev/infiniband/by-path/pci-{function}")

    monitor = guest.popen("udevadm monitor --kernel --udev")
    monitor.wait_output("KERNEL")
    try:
        guest.unload_modules()
    finally:
        guest.load_modules()
    guest.rdma_device()
    for event in (r"UDEV .*remove .*infiniband/rocep", r"UDEV .*add .*infiniband_verbs/uverbs0",
                  r"UDEV .*(add|move) .*infiniband/rocep"):
        monitor.wait_output(event, timeout=20)
    monitor.kill()


def test_device_attributes(rdma_pair):
    """ibv_devinfo, rdma dev and sysfs agree, and limits are those of this device."""
    guest = rdma_pair.a
    info, guid = devinfo(guest), node_guid(guest)
    wanted = {
        "fw_ver": "0.0.1", "node_guid": guid, "sys_image_guid": guid, "vendor_id": "0x1af4",
        "vendor_part_id": str(0x1041), "hw_ver": "0x1", "phys_port_cnt": "1",
        "page_size_cap": "0x7ffff000", "max_qp": str(rdma_pair.limits.direct_qps),
        "max_cq": str(rdma_pair.limits.direct_cqs - 1), "max_qp_wr": "32768", "max_sge": "32",
        "max_sge_rd": "32", "max_mr": str(rdma_pair.limits.mrs - 1), "max_pd": "1023", "max_ah": "4096",
        "max_qp_rd_atom": "128", "max_qp_init_rd_atom": "128",
        "max_res_rd_atom": str(128 * rdma_pair.limits.direct_qps), "max_pkeys": "1",
        "num_comp_vectors": str(rdma_pair.limits.event_queues),
        "max_mtu": "4096 (5)", "link_layer": "Ethernet",
        "max_msg_sz": "0x80000000", "pkey_tbl_len": "1", "gid_tbl_len": "128",
        "phys_state": "LINK_UP (5)", "local_ca_ack_delay": "15",
    }
    assert {name: info.get(name) for name in wanted} == wanted
    shown, = json.loads(guest.run("rdma -d -j dev show").stdout)
    assert (shown["ifname"], shown["protocol"], shown["node_type"], shown["fw"],
            shown["node_guid"]) == (guest.rdma_device(), "roce", "ca", "0.0.1", guid), shown
    assert file(guest, "fw_ver") == "0.0.1" and file(guest, "node_guid") == guid
    assert file(guest, "node_type") == "1: CA"


def test_node_description(rdma_pair):
    """It can be set, as rdma-ndd does."""
    guest = rdma_pair.a
    path = f"/sys/class/infiniband/{guest.rdma_device()}/node_desc"
    guest.run(f"echo 'lab {guest.name}' > {path}")
    assert file(guest, "node_desc") == f"lab {guest.name}"


def test_largest_region(rdma_pair):
    """max_mr_size is what a command of 981 pieces of 32 KiB names pages of lists for, less one."""
    lists = (981 * 32768 - 40) // 8
    assert int(devinfo(rdma_pair.a)["max_mr_size"], 16) == (lists * 512 - 1) * 4096


def port_speed(guest):
    """Width and speed as ibv_devinfo has them, and the rate in sysfs."""
    info = devinfo(guest)
    return (info["active_width"], info["active_speed"], file(guest, "ports/1/rate"))


def test_speed(rdma_pair):
    """The daemon reports 100 Gb/s for Ethernet; RDMA follows a speed that is set later."""
    guest = rdma_pair.a
    interface = guest.interface()
    shown = guest.run(f"ethtool {interface}").stdout
    assert re.search(r"Speed: 100000Mb/s\s+Duplex: Full", shown), shown
    assert port_speed(guest) == ("4X (2)", "25.0 Gbps (32)", "100 Gb/sec (4X EDR)")
    guest.run(f"ethtool -s {interface} speed 40000 duplex full")
    try:
        assert port_speed(guest) == ("4X (2)", "10.0 Gbps (8)", "40 Gb/sec (4X FDR10)")
    finally:
        guest.run(f"ethtool -s {interface} speed 100000 duplex full")


def interface_mtu(guest):
    """MTU of the Ethernet interface."""
    return int(guest.run(f"cat /sys/class/net/{guest.interface()}/mtu").stdout)


def set_mtu(guests, mtu, active):
    """Sets the MTU of the interfaces, after which RDMA's active MTU must be as given."""
    for guest in guests:
        guest.run(f"ip link set {guest.interface()} mtu {mtu}")
        assert devinfo(guest)["active_mtu"] == active, mtu


def test_mtu_follows_the_interface(rdma_pair):
    """active_mtu is the largest that fits.  The interface has 1500 until it is told."""
    guest = rdma_pair.a
    assert interface_mtu(guest) == 1500
    try:
        for mtu, active in ((1500, "1024 (3)"), (1000, "512 (2)"), (600, "256 (1)"),
                            (2200, "2048 (4)"), (4200, "4096 (5)"), (9000, "4096 (5)"),
                            (65535, "4096 (5)")):
            set_mtu([guest], mtu, active)
    finally:
        set_mtu([guest], 1500, "1024 (3)")


@pytest.mark.long
def test_large_mtu_by_packets():
    """Raised in the guests while the daemon runs; both kinds of traffic use it."""
    pair = Pair("mtu", daemon_arguments=["--packets"], pcap=True).start()
    pair.load_modules()
    a, b = pair.guests
    set_mtu(pair.guests, 4200, "4096 (5)")
    for program in ("rc", "uc"):
        pingpong(b, a, program=program, size=65536, iterations=20, validate=True,
                 arguments=["-m", 4096])
    pingpong(b, a, program="ud", size=4096, iterations=20, validate=True)
    lengths = [len(frame) for frame in frames(pair.daemon.directory / "wire.pcap")]
    assert 4096 < max(lengths) <= 4200 + 18, max(lengths)

    set_mtu(pair.guests, 9000, "4096 (5)")
    a.run(["ping", "-c", "3", "-M", "do", "-s", "8000", b.address])
    a.run(["ping", "-c", "3", "-M", "do", "-s", "8972", b.address])
    set_mtu(pair.guests, 65535, "4096 (5)")
    a.run(["ping", "-c", "3", "-M", "do", "-s", "65507", b.address])
    iperf(a, b, volume="1M")
    pair.stop()


def test_mtu_of_the_operator():
    """--mtu is the largest MTU of the interface and its first; --speed 0 reports none."""
    daemon = Daemon("told-daemon", guests=1, arguments=["--mtu", "4200", "--speed", "0"]).start()
    guest = Guest("told", 8, [roce_device(daemon.sockets[0])]).start().wait_ready()
    guest.load_modules()
    interface = guest.interface()
    assert interface_mtu(guest) == 4200
    assert devinfo(guest)["active_mtu"] == "4096 (5)"
    assert guest.run(f"ip link set {interface} mtu 4201", check=False).rc != 0
    assert "Speed: Unknown!" in guest.run(f"ethtool {interface}").stdout
    guest.stop()
    daemon.stop()


def shown_resources(guest, kind, pid):
    """Entries of "rdma resource show" of a process."""
    return [entry for entry in json.loads(guest.run(f"rdma -d -j resource show {kind}").stdout)
            if entry.get("pid") == pid]


def test_resources_tell_the_truth(rdma_pair):
    """The resources of one ibv_rc_pingpong, and those of the kernel."""
    run = PingPong(rdma_pair.a, rdma_pair.b, iterations=100000000, events=True, size=5000,
                   prefix=("stdbuf", "-oL"))
    guest = rdma_pair.b
    match = run.client.wait_output(r"remote address: .*QPN 0x(\w+)")
    pid, remote = run.client.pid, int(match[1], 16)
    local = int(re.search(r"local address: .*QPN 0x(\w+)", run.client.stdout)[1], 16)
    run.wait_connected()
    shown = guest.run(f"rdma resource show qp pid {pid}").stdout
    assert f" lqpn {local} rqpn {remote} type RC state RTS " in shown, shown
    cq, = shown_resources(guest, "cq", pid)
    assert cq["cqe"] >= 500 and cq["users"] == 2, cq
    mr, = shown_resources(guest, "mr", pid)
    assert mr["mrlen"] == 5000 and mr["pdn"] == shown_resources(guest, "pd", pid)[0]["pdn"], mr
    assert shown_resources(guest, "ctx", pid)
    kernel = json.loads(guest.run("rdma -j resource show qp").stdout)
    assert [(entry["type"], entry["lqpn"], entry["comm"]) for entry in kernel
            if "pid" not in entry] == [("GSI", 1, "ib_core")], kernel
    run.kill()
    assert not shown_resources(guest, "qp", pid)

    server = guest.popen(["rping", "-s", "-a", guest.address])
    guest.wait_listening_cm()
    listening, = shown_resources(guest, "cm_id", server.pid)
    assert (listening["state"], listening["src-addr"]) == \
        ("LISTEN", f"{guest.address}:7174"), listening
    server.kill()


@pytest.mark.parametrize("program, grows", [
    ("ib_send_bw", {"rdma_sends": 0, "rdma_recvs": 1}),
    pytest.param("ib_write_bw", {"rdma_writes": 0}, marks=pytest.mark.long),
    pytest.param("ib_read_bw", {"rdma_reads": 0}, marks=pytest.mark.long)])
def test_counters_count(rdma_pair, program, grows):
    """1000 operations are counted where they were posted, and no errors."""
    ends = (rdma_pair.a, rdma_pair.b)
    before = []
    client, server = ([program, "-x", gid_index(guest, guest.rdma_device()), "-F",
                       "-n", "1000", "-s", "4096", "-p", "18790"] for guest in ends)

    def run():
        before[:] = [counters(guest) for guest in ends]
        running = [rdma_pair.b.popen(server)]
        rdma_pair.b.wait_listening(18790)
        running.append(rdma_pair.a.popen([*client, rdma_pair.b.address]))
        return [end.wait(60) for end in running]

    by_a_right_clock(run)
    assert set(before[0]) == COUNTERS
    more = [{name: value - old[name] for name, value in counters(guest).items()}
            for guest, old in zip(ends, before)]
    for name in ("rdma_sends", "rdma_writes", "rdma_reads", "rdma_recvs"):
        for place, end in enumerate(more):
            # The connection's own messages go over TCP.
            wanted = 1000 if grows.get(name) == place else 0
            assert end[name] == wanted, (name, place, more)
    assert more[0]["send_err"] == more[1]["recv_err"] == 0, more
    files = rdma_pair.a.run("cd /sys/class/infiniband/*/ports/1/hw_counters && ls").stdout
    assert set(files.split()) == COUNTERS | {"lifespan"}
    assert int(file(rdma_pair.a, "ports/1/hw_counters/rdma_sends")) == \
        counters(rdma_pair.a)["rdma_sends"]


def test_counters_of_errors_and_reset(rdma_pair):
    """An error is counted at both ends; counters survive a reset of the function."""
    guest, other = rdma_pair.guests
    before = [counters(end) for end in rdma_pair.guests]
    # The server's receive requests are too short for what the client sends.
    lines = [["ibv_rc_pingpong", "-d", end.rdma_device(), "-g", gid_index(end, end.rdma_device()),
              "-s", size] for end, size in ((guest, "64"), (other, "4096"))]
    server = guest.popen(lines[0])
    guest.wait_listening(PORT)
    client = other.popen([*lines[1], guest.address])
    assert "local length error" in server.wait().stderr
    assert "remote invalid request" in client.wait().stderr
    after = [counters(end) for end in rdma_pair.guests]
    grown = [{name for name in ("send_err", "recv_err", "resp_refused") if new[name] > old[name]}
             for old, new in zip(before, after)]
    assert grown == [{"recv_err", "resp_refused"}, {"send_err"}], grown

    before = after[0]
    guest.unload_modules()
    guest.load_modules()
    guest.rdma_device()
    after = counters(guest)
    assert all(after[name] >= value for name, value in before.items()), (before, after)

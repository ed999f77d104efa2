# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The view of an engineer: details of objects and tracepoints in a guest, rates outside."""

import json
import re
import time

import pytest

from lab.patience import Deadline
from lab.pingpong import PingPong, pingpong
from lab.programs import counters

TRACING = "/sys/kernel/tracing"
ROCE = 6    # class of RoCE commands on the control queue


def details(guest, kind, pid):
    """The details that "rdma -dd resource show" has of a process's only object of a kind."""
    listed = json.loads(guest.run(f"rdma -j -dd resource show {kind}").stdout)
    found, = [each for each in listed if each.get("pid") == pid]
    return {key.removeprefix("drv_"): value for key, value in found.items()}


@pytest.mark.debug_kernel
def test_objects_tell_their_form(rdma_pair):
    """Form, sizes and indices of a program's QP, CQ and region."""
    guest = rdma_pair.b
    run = PingPong(rdma_pair.a, guest, iterations=100000000, events=True, gently=True)
    run.wait_connected()
    run.assert_moves(4)
    pid = run.client.pid
    qp, cq, mr = (details(guest, kind, pid) for kind in ("qp", "cq", "mr"))
    run.kill()
    # The program posts 500 receive requests and has one send under way.
    assert qp["form"] == "direct" and qp["rq_depth"] == 512, qp
    assert qp["sq_depth"] >= 1 and qp["sq_posted"] > 0 and qp["rq_posted"] >= 500, qp
    assert cq["form"] == "direct" and cq["slots"] >= 501, cq
    assert cq["taken"] > 0 and cq["arm"] > 0, cq
    assert mr["kind"] == "process" and mr["pages"] in (1, 2) and "device_mrn" in mr, mr


def bound(guest):
    """The counters that QPs are bound to: of each its number, its QPs and what it counts."""
    listed = json.loads(guest.run("rdma -j statistic qp show").stdout or "[]")
    return {each["cntn"]: each for each in listed}


def bound_later(guest, number, sends):
    """One of them, as soon as it has counted more messages than these."""
    deadline = Deadline(20)
    while True:
        now = bound(guest)[number]
        if now["rdma_sends"] > sends:
            return now
        assert not deadline.over(), now


@pytest.mark.debug_kernel
def test_counters_of_qps(rdma_pair):
    """QPs are bound to counters, by hand or when they are made; those of the port go on."""
    daemon, guest = rdma_pair.daemon, rdma_pair.b
    link = f"{guest.rdma_device()}/1"
    before = counters(guest)
    guest.run(f"rdma statistic qp set link {link} auto type on")
    run = PingPong(rdma_pair.a, guest, iterations=100000000, events=True, gently=True)
    run.wait_connected()
    number, first = bound(guest).popitem()
    qpn, = first["lqpn"]
    then = bound_later(guest, number, first["rdma_sends"])
    assert then["rcvd_bytes"] > 0, (first, then)
    # The port counts what the counter does, and has not less when the QP leaves it.
    during = counters(guest)
    assert during["rdma_sends"] >= before["rdma_sends"] + then["rdma_sends"], (before, then)
    run.kill()
    guest.wait_until("! rdma resource show qp | grep -q 'type RC'")
    assert not bound(guest)
    after = counters(guest)
    assert all(after[name] >= during[name] for name in during), (during, after)
    guest.run(f"rdma statistic qp set link {link} auto off")
    run = PingPong(rdma_pair.a, guest, iterations=100000000, events=True, gently=True)
    run.wait_connected()
    listed = json.loads(guest.run("rdma -j resource show qp").stdout)
    qpn, = [each["lqpn"] for each in listed if each.get("pid") == run.client.pid]
    assert not bound(guest)
    guest.run(f"rdma statistic qp bind link {link} lqpn {qpn}")
    number, second = bound(guest).popitem()
    assert second["lqpn"] == [qpn], second
    bound_later(guest, number, 0)
    guest.run(f"rdma statistic qp unbind link {link} cntn {number} lqpn {qpn}")
    assert not bound(guest)
    run.kill()
    guest.wait_until("! rdma resource show qp | grep -q 'type RC'")
    mine, = re.findall(rf'_rdma_sends_total{{port="{daemon.sockets[1].name}".*}} (\d+)',
                       daemon.control("metrics"))
    assert counters(guest)["rdma_sends"] == int(mine)


def test_top_and_metrics(rdma_pair):
    """The operator's view of a program at both ends: state, peer, rates."""
    daemon, a, b = rdma_pair.daemon, rdma_pair.a, rdma_pair.b
    run = PingPong(a, b, iterations=100000000, events=True, gently=True)
    run.wait_connected()
    listed = json.loads(b.run("rdma -j resource show qp").stdout)
    qpn, = [each["lqpn"] for each in listed if each.get("pid") == run.client.pid]
    deadline = Deadline(30)
    while True:
        seen = json.loads(daemon.control("top", "--json", "2"))
        names = [port["name"] for port in seen["ports"]]
        qp, = [each for each in seen["qps"] if (each["guest"], each["qpn"]) == (names[1], qpn)]
        other, = [each for each in seen["qps"]
                  if (each["guest"], each["qpn"]) == (names[0], qp["peer_qpn"])]
        # A guest may stand still for that long.
        if all(end["sent_bytes_per_second"] for end in (qp, other)) or deadline.over():
            break
    metrics = daemon.control("metrics")
    run.kill()
    for end, peer in ((qp, other), (other, qp)):
        assert (end["type"], end["state"]) == ("RC", "RTS"), seen
        assert (end["peer"], end["peer_qpn"]) == (peer["guest"], peer["qpn"]), seen
        assert end["sent_bytes_per_second"] > 0 and end["operations_per_second"] > 0, seen
    assert f'vhost_user_roce_guest_up{{port="{names[0]}",kind="guest"}} 1' in metrics
    assert metrics.endswith("# EOF\n")


@pytest.fixture
def trace(rdma_pair):
    """Reads what a guest's tracepoints have written since the last time."""
    guest = rdma_pair.b
    guest.run(f"mountpoint -q {TRACING} || mount -t tracefs nodev {TRACING}")
    systems = ("virtio_roce", "virtio_net_roce")

    def switch(value):
        for system in systems:
            guest.run(f"echo {value} > {TRACING}/events/{system}/enable")

    def read():
        lines = guest.run(f"cat {TRACING}/trace").stdout
        guest.run(f"echo > {TRACING}/trace")
        return re.findall(r": (v\w+: device=0000:.*)", lines)

    guest.run(f"echo > {TRACING}/trace")
    switch(1)
    yield read
    switch(0)


@pytest.mark.debug_kernel
def test_tracepoints(rdma_pair, trace):
    """A program's commands, on both levels, and the states of its QP."""
    pingpong(rdma_pair.a, rdma_pair.b, iterations=10, events=True)
    lines = trace()
    created = [line for line in lines if " name=CREATE_QP " in line]
    assert len(created) == 1, lines
    assert re.search(r"vroce_command: device=0000:\S+ name=CREATE_QP command=9 ns=[1-9]\d* "
                     r"result=0$", created[0])
    below = [line for line in lines if f" class={ROCE} command=9 " in line]
    assert len(below) == 1, lines
    assert re.search(r"vnr_command: .* ack=0 waited_ns=\d+ device_ns=[1-9]\d* result=0$",
                     below[0])
    # The caller waits as long as the device takes, and no less.
    assert int(re.search(r" ns=(\d+)", created[0])[1]) >= \
        int(re.search(r"device_ns=(\d+)", below[0])[1])
    states = re.findall(r"vroce_qp_state: \S+ qpn=(\d+) (from=\w+ to=\w+)", "\n".join(lines))
    qpn = states[0][0]
    assert [change for number, change in states if number == qpn] == [
        "from=RESET to=INIT", "from=INIT to=RTR", "from=RTR to=RTS"], states
    assert any(line.startswith("vnr_event: ") and " type=0 " in line for line in lines), lines


def test_time_by_command(rdma_pair):
    """The kernel adds up by itself how long each kind of command takes."""
    guest = rdma_pair.b
    event = f"{TRACING}/events/virtio_roce/vroce_command"
    guest.run(f"mountpoint -q {TRACING} || mount -t tracefs nodev {TRACING}")
    guest.run(f"echo 'hist:keys=name:vals=ns' > {event}/trigger")
    pingpong(rdma_pair.a, guest, iterations=10)
    found = guest.run(f"cat {event}/hist").stdout
    guest.run(f"echo '!hist:keys=name:vals=ns' > {event}/trigger")
    assert re.search(r"name: MODIFY_QP +\} hitcount: +3  ns: +[1-9]", found), found


def test_death_and_restart_are_traced(rdma_pair, trace):
    """A reset by hand: dead, quiesced, running, as both modules see it."""
    guest = rdma_pair.b
    reset = guest.run("ls /sys/bus/pci/drivers/virtio_net_roce/0000:*/reset").stdout.strip()
    guest.run(f"echo 1 > {reset}")
    guest.wait_until("rdma link | grep -q ACTIVE", timeout=30)
    text = "\n".join(trace())
    assert re.findall(r"vnr_state: \S+ (from=\w+ to=\w+)", text) == [
        "from=running to=dead", "from=dead to=quiesced", "from=quiesced to=starting",
        "from=starting to=running"], text
    assert re.findall(r"vroce_health: \S+ health=(\w+)", text) == ["dead", "quiesced"], text
    pingpong(rdma_pair.a, guest, iterations=10)


@pytest.mark.parametrize("verb, off, on", [("cut", "on", "off"), ("link", "down", "up")])
def test_port_without_a_way_stops_rdma(rdma_pair, verb, off, on):
    """An action on a guest's port holds for RDMA in memory; afterwards all works again."""
    daemon, a, b = rdma_pair.daemon, rdma_pair.a, rdma_pair.b
    port = daemon.sockets[0].name
    run = PingPong(a, b, iterations=100000000, events=True, gently=True)
    run.wait_connected()
    run.assert_moves()
    daemon.control(verb, port, off)
    try:
        deadline = Deadline(60)
        while run.client.poll() is None and run.server.poll() is None:
            assert not deadline.over(), "the ping-pong goes on, or waits for ever"
            time.sleep(0.2)
        said = run.client.stdout + run.client.stderr + run.server.stdout + run.server.stderr
        assert "transport retry counter exceeded" in said, said
    finally:
        run.kill()
        daemon.control(verb, port, on)
    a.wait_output(f"cat /sys/class/net/{a.interface()}/carrier", "1")
    pingpong(a, b, iterations=200, validate=True)

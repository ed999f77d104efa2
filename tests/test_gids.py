# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The GID table follows the addresses of the interface and of VLANs on it."""

import time

import pytest

from lab.longform import mostly_long
from lab.patience import Deadline
from lab.pingpong import gid_text, pingpong
from lab.programs import rping, rping_server

VLAN = "lab5"


def table(guest):
    """(index, GID, interface, type) of each entry."""
    found = {}
    for line in guest.run("cd /sys/class/infiniband/*/ports/1 &&"
                          " grep -r . gids gid_attrs 2> /dev/null; true").stdout.splitlines():
        path, value = line.split(":", 1)
        directory, index = path.rsplit("/", 1)
        found[directory, index] = value
    # Entries without attributes are empty.  One that goes meanwhile lacks some.
    return sorted((index, found.get(("gids", index), ""), value,
                   found.get(("gid_attrs/types", index), ""))
                  for (directory, index), value in found.items() if directory == "gid_attrs/ndevs")


def wait_for(guest, address, interface, present=True):
    """Waits until the table has an entry, or no longer has it."""
    deadline = Deadline(10)
    while True:
        found = any(entry[1:] == (gid_text(address), interface, "RoCE v2")
                    for entry in table(guest))
        if found == present:
            return
        assert not deadline.over(), (address, interface, present, table(guest))
        time.sleep(0.1)


@pytest.fixture(name="vlans")
def _vlans(rdma_pair):
    """Two more addresses on each interface, and two on a VLAN."""
    for guest in rdma_pair.guests:
        interface, n = guest.interface(), guest.number
        guest.run(
            f"ip addr add 10.78.0.{n}/24 dev {interface} &&"
            f" ip addr add fd00:77::{n}/64 dev {interface} nodad &&"
            f" ip link add link {interface} name {VLAN} type vlan id 5 &&"
            f" ip link set {VLAN} up && ip addr add 10.79.0.{n}/24 dev {VLAN} &&"
            f" ip addr add fd00:79::{n}/64 dev {VLAN} nodad")
        for address, where in addresses(guest):
            wait_for(guest, address, where)
    yield rdma_pair
    for guest in rdma_pair.guests:
        guest.run(f"ip link del {VLAN}; ip addr del 10.78.0.{guest.number}/24"
                  f" dev {guest.interface()};"
                  f" ip addr del fd00:77::{guest.number}/64 dev {guest.interface()}",
                  check=False)
        # The kernel removes entries later, and the next test adds the same.
        for address, where in addresses(guest):
            wait_for(guest, address, where, present=False)


def addresses(guest):
    """Addresses that the fixture gave the guest: (address, interface)."""
    n = guest.number
    return [(f"10.78.0.{n}", guest.interface()), (f"fd00:77::{n}", guest.interface()),
            (f"10.79.0.{n}", VLAN), (f"fd00:79::{n}", VLAN)]


def test_addresses_come_and_go(vlans):
    """Each entry with the right interface; none is left when the address has gone."""
    guest = vlans.a
    interface = guest.interface()
    before = table(guest)
    assert len({entry[0] for entry in before}) == len(before) >= 7, before
    guest.run(f"ip addr del 10.78.0.1/24 dev {interface}")
    wait_for(guest, "10.78.0.1", interface, present=False)
    guest.run(f"ip addr del fd00:79::1/64 dev {VLAN}")
    wait_for(guest, "fd00:79::1", VLAN, present=False)
    left = [entry for entry in before
            if entry[1] not in (gid_text("10.78.0.1"), gid_text("fd00:79::1"))]
    assert table(guest) == left
    guest.run(f"ip link del {VLAN}")
    wait_for(guest, "10.79.0.1", VLAN, present=False)
    assert not [entry for entry in table(guest) if entry[2] == VLAN], table(guest)
    guest.run(f"ip addr del fd00:77::1/64 dev {interface}")
    wait_for(guest, "fd00:77::1", interface, present=False)
    # The VLAN's link-local address is the interface's, too, which has kept it.
    assert [entry[1] for entry in table(guest)] == [before[0][1], gid_text(guest.address)], \
        table(guest)
    pingpong(vlans.b, guest, arguments=("-g", "0"), iterations=50, validate=True)


@pytest.mark.parametrize("number", mostly_long(range(4), short=[1, 2]),
                         ids=["ipv4", "ipv6", "vlan-ipv4", "vlan-ipv6"])
def test_messages(vlans, number):
    """RDMA over each kind of address, both ways; and Ethernet."""
    a, b = vlans.guests
    there = addresses(b)[number][0]
    a.run(["ping", "-c", "2", "-i", "0.2", "-W", "5", there])
    for server, client in ((a, b), (b, a)):
        pingpong(server, client, iterations=100, validate=True, size=9000,
                 addresses=[addresses(end)[number][0] for end in (server, client)])


def test_connection_manager(vlans):
    """rdma_cm finds the GID of a route, and resolves the neighbour, on a VLAN, too."""
    for number in range(4):
        address = addresses(vlans.b)[number][0]
        with rping_server(vlans.b, address):
            rping(vlans.a, address, 20)


def test_entries_are_used_again(vlans):
    """Addresses added and removed more often than there are entries leave none used."""
    guest = vlans.a
    interface, before = guest.interface(), table(guest)
    guest.run("ip -batch -", stdin="".join(
        f"addr {verb} 10.81.{number}.1/24 dev {interface}\n"
        for number in range(1, 141) for verb in ("add", "del")))
    # The kernel makes and removes entries later, in this order, so this one is the last.
    guest.run(f"ip addr add 10.81.0.1/24 dev {interface}")
    wait_for(guest, "10.81.0.1", interface)
    guest.run(f"ip addr del 10.81.0.1/24 dev {interface}")
    wait_for(guest, "10.81.0.1", interface, present=False)
    assert table(guest) == before

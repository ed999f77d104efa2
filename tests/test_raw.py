# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Raw packets between guests: frames and rules by rdma-core's Python, and perftest's
raw_ethernet programs, unchanged."""

import pathlib
import struct

import pytest

from lab.perftest import check, rows

PROGRAM = pathlib.Path(__file__).parent / "guest" / "raw.py"
TARGET = "02:72:61:77:00:01"
OTHER = "02:72:61:77:00:02"
TYPE = 0x88b5


def mac(guest):
    """Address of the guest's interface."""
    return guest.run(f"cat /sys/class/net/{guest.interface()}/address").stdout.strip()


def frame(source, target, number, vlan=None):
    """A frame in hexadecimal whose payload is its number."""
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    head = bytes.fromhex((target + source).replace(":", ""))
    return (head + tag + struct.pack("!H", TYPE) + bytes([number]) * 60).hex()


def exchange(pair, rules, sent, heard):
    """Guest b listens with rules, guest a sends frames; b hears those at some indices."""
    device = pair.b.rdma_device()
    receiver = pair.b.popen(["python3", pair.b.put(PROGRAM), "receive", device,
                             str(len(heard)), *rules])
    receiver.wait_output("^ready$")
    pair.a.run(["python3", pair.a.put(PROGRAM), "send", pair.a.rdma_device(), *sent])
    result = receiver.wait(60, check=True)
    assert result.stdout.split()[1:] == [sent[index] for index in heard], str(result)


@pytest.mark.debug_kernel
def test_rules(rdma_pair):
    """Addresses, a VLAN, a sniffer: only frames that match come, whole and in order."""
    source = mac(rdma_pair.a)
    sent = [frame(source, TARGET, 0), frame(source, OTHER, 1), frame(source, TARGET, 2, 7),
            frame(source, TARGET, 3, 8), frame(source, OTHER, 4, 7), frame(source, TARGET, 5)]
    exchange(rdma_pair, [f"dst={TARGET}"], sent, [0, 2, 3, 5])
    exchange(rdma_pair, [f"dst={TARGET},vlan=7"], sent, [2])
    exchange(rdma_pair, [f"type={TYPE:x},vlan=7"], sent, [2, 4])


def test_no_rule_is_left(rdma_pair):
    """The rules of a program that was killed are gone: the interface hears again."""
    guest = rdma_pair.b
    program = guest.popen(["python3", guest.put(PROGRAM), "receive", guest.rdma_device(), "5",
                           f"dst={mac(guest)}"])
    program.wait_output("^ready$")
    program.kill()
    program.wait()
    rdma_pair.a.run(f"ping -c 2 {guest.address}")


def line(guest, peer, program, *arguments):
    """One end of a run.  Neither end talks to the other but by frames."""
    return [program, "-d", guest.rdma_device(), "-F", "-B", mac(guest), "-E", mac(peer),
            *map(str, arguments)]


def test_latency(rdma_pair):
    """perftest: frames there and back, each answered."""
    options = ["-s", 200, "-n", 500]
    server = rdma_pair.b.popen(line(rdma_pair.b, rdma_pair.a, "raw_ethernet_lat", "--server",
                                    *options))
    rdma_pair.b.wait_until("rdma resource show qp | grep -q 'type RAW_PACKET state RTS'")
    # The rest of its preparation takes less than the client needs to begin.
    client = rdma_pair.a.popen(line(rdma_pair.a, rdma_pair.b, "raw_ethernet_lat", "--client",
                                    *options))
    results = [end.wait(120, check=True) for end in (client, server)]
    check(rows(results[0].stdout), [200], 500)

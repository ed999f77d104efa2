#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Takes the golden packets of device/tests/golden/ from the kernel's rdma_rxe.

usage: golden.py > device/tests/golden/rxe.hex

Boots two stock guests without our modules.  The daemon is an Ethernet card to each, and
Soft-RoCE in one guest talks to Soft-RoCE in the other: all opcodes of verbs
(tests/guest/opcodes.py) and the connection manager (rping), by IPv4, IPv6 and with a
VLAN tag.  The first packet of each kind that passes the switch is kept; a kind is
opcode, direction, network and syndrome.
"""

import pathlib
import struct
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "tests"))

import lab  # noqa: E402  (found by the line above)
from lab.capture import ROCE_PORT, frames  # noqa: E402
from lab.pingpong import gid_index, gid_text  # noqa: E402

VLAN = 77
UDP = 17
AETH_OPCODES = (0x0d, 0x0f, 0x10, 0x11, 0x12)


def kind(frame):
    """The kind of a RoCE packet, or None for other frames."""
    tagged = frame[12:14] == b"\x81\0"
    network = 18 if tagged else 14
    kind_of_ip = frame[network - 2:network]
    if kind_of_ip == b"\x08\0" and frame[network + 9] == UDP:
        bth = network + 28
    elif kind_of_ip == b"\x86\xdd" and frame[network + 6] == UDP:
        bth = network + 48
    else:
        return None
    if struct.unpack_from(">H", frame, bth - 6)[0] != ROCE_PORT:
        return None
    opcode = frame[bth]
    syndrome = frame[bth + 12] if opcode in AETH_OPCODES else 0
    # The upper bits are its kind; the code of a NAK tells the reason.
    syndrome = syndrome if syndrome & 0x60 == 0x60 else syndrome & 0x60
    is_gsi = opcode >> 5 == 3 and frame[bth + 5:bth + 8] == b"\0\0\1"
    # With MADs the attribute: REQ, REP …
    attribute = frame[bth + 20 + 16:bth + 20 + 18] if is_gsi else b""
    return tagged, kind_of_ip, opcode, frame[6:12], syndrome, attribute


def addresses(number):
    """Addresses of a guest's interface and of its VLAN."""
    return (f"10.77.0.{number}", f"fd77::{number}"), (f"10.78.0.{number}", f"fd78::{number}")


def configure(guest):
    """Sets up addresses and Soft-RoCE."""
    interface = guest.configure_network()
    plain, tagged = addresses(guest.number)
    guest.run(f"ip link add link {interface} name vlan type vlan id {VLAN}"
              f" && ip link set vlan up && ip addr add {plain[1]}/64 dev {interface} nodad"
              f" && ip addr add {tagged[0]}/24 dev vlan"
              f" && ip addr add {tagged[1]}/64 dev vlan nodad"
              " && modprobe -a rdma_rxe ib_uverbs rdma_ucm"
              f" && rdma link add rxe0 type rxe netdev {interface}")
    for address in (*plain, *tagged):
        gid_index(guest, "rxe0", address)


def talk(pair, index, kind_of_net):
    """Runs everything once over one network; b is the client."""
    mine = [addresses(guest.number)[kind_of_net][index] for guest in pair.guests]
    program = pair.a.put(TOP / "tests/guest/opcodes.py"), pair.b.put(
        TOP / "tests/guest/opcodes.py")
    server = pair.a.popen(["python3", program[0], "server", "rxe0", gid_text(mine[0]),
                           pair.a.address])
    pair.a.wait_listening(18600)
    pair.b.run(["python3", program[1], "client", "rxe0", gid_text(mine[1]), pair.a.address],
               timeout=120)
    server.wait(check=True)

    server = pair.a.popen(["rping", "-s", "-a", mine[0], "-C", "2"])
    pair.a.wait_listening_cm()
    pair.b.run(["rping", "-c", "-a", mine[0], "-C", "2"])
    server.wait(20)


def main():
    """Prints the packets."""
    pair = lab.Pair("golden", pcap=True, install=False).start()
    for guest in pair.guests:
        configure(guest)
    for kind_of_net in (0, 1):
        for index in (0, 1):
            talk(pair, index, kind_of_net)
    pair.stop()

    found = {}
    for frame in frames(pair.daemon.directory / "wire.pcap"):
        key = kind(frame)
        if key:
            found.setdefault(key, frame)
    for frame in found.values():
        print(frame.hex())


main()

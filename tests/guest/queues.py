# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""queues.py received INTERFACE     prints the packets that each receive queue has got
queues.py serve PORT N             takes N connections, reads all of them to their ends
queues.py connect ADDRESS PORT N   N connections from random ports, with some data each

The kernel has the counters in its netlink family "netdev", from Linux 6.10 on; before that
ethtool has them.
"""

import random
import re
import socket
import struct
import subprocess
import sys

GENL_CTRL, CTRL_GETFAMILY, CTRL_FAMILY_ID, CTRL_FAMILY_NAME = 16, 3, 1, 2
QSTATS_GET, IFINDEX, QUEUE_TYPE, QUEUE_ID, SCOPE, RX_PACKETS = 12, 1, 2, 3, 4, 8
REQUEST, ACK, DUMP = 1, 4, 0x300
ERROR, DONE = 2, 3


def attribute(kind, value):
    """One attribute of netlink."""
    data = struct.pack("=HH", 4 + len(value), kind) + value
    return data + bytes(-len(data) % 4)


def attributes(data):
    """Those of a message, by kind."""
    found = {}
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        found[kind & 0x3fff] = data[4:size]
        data = data[(size + 3) & ~3:]
    return found


def ask(sock, family, command, flags, payload):
    """The answers to a request, each as attributes."""
    body = struct.pack("=BBH", command, 1, 0) + payload
    sock.send(struct.pack("=IHHII", 16 + len(body), family, REQUEST | flags, 1, 0) + body)
    while True:
        data = sock.recv(1 << 16)
        while data:
            size, kind = struct.unpack_from("=IH", data)
            if kind == ERROR and struct.unpack_from("=i", data, 16)[0]:
                raise OSError(-struct.unpack_from("=i", data, 16)[0], "netlink")
            if kind in (ERROR, DONE):
                return
            yield attributes(data[20:size])
            data = data[(size + 3) & ~3:]


def number(value):
    """An integer of any size."""
    return int.from_bytes(value, sys.byteorder)


def by_netlink(interface):
    """Packets of each receive queue."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16) as sock:
        sock.bind((0, 0))
        name = attribute(CTRL_FAMILY_NAME, b"netdev\0")
        family, = ask(sock, GENL_CTRL, CTRL_GETFAMILY, ACK, name)
        index = struct.pack("=I", socket.if_nametoindex(interface))
        stats = ask(sock, number(family[CTRL_FAMILY_ID]), QSTATS_GET, DUMP,
                    attribute(IFINDEX, index) + attribute(SCOPE, struct.pack("=I", 1)))
        return {number(each[QUEUE_ID]): number(each[RX_PACKETS]) for each in stats
                if number(each[QUEUE_TYPE]) == 0}


def by_ethtool(interface):
    """The same on older kernels."""
    said = subprocess.run(["ethtool", "-S", interface], check=True, capture_output=True,
                          text=True).stdout
    return {int(queue): int(count) for queue, count in
            re.findall(r"\brx_?(?:queue_)?(\d+)_packets: (\d+)", said)}


def received(interface):
    """Prints them in the order of the queues."""
    counts = by_ethtool(interface) or by_netlink(interface)
    print(*(counts[queue] for queue in sorted(counts)))


def serve(port, connections):
    """Says so when it listens, and when all has come."""
    with socket.create_server(("", int(port)), backlog=1024) as server:
        print("ready", flush=True)
        for _ in range(int(connections)):
            with server.accept()[0] as peer:
                while peer.recv(4096):
                    pass
    print("done")


def connect(address, port, connections):
    """Ports in a row could have hashes that all lead to the same queue.

    Nobody can listen to a port that had a connection a minute ago: no test listens to these.
    """
    left = int(connections)
    while left:
        with socket.socket() as sock:
            try:
                sock.bind(("", random.randrange(32768, 60999)))
                sock.connect((address, int(port)))
            except OSError:
                continue  # somebody has or had this one
            sock.sendall(bytes(1000))
            left -= 1


if __name__ == "__main__":
    {"received": received, "serve": serve, "connect": connect}[sys.argv[1]](*sys.argv[2:])

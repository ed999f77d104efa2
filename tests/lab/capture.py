# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Captures of the wire: read by tshark, and by us for the ICRC, which it does not check."""

import itertools
import struct
import subprocess
import zlib

ROCE_PORT = 4791

_ETHERTYPE_VLAN = 0x8100
_ETHERTYPE_IPV4 = 0x0800
_ETHERTYPE_IPV6 = 0x86dd
_IPPROTO_UDP = 17


def tshark(path, *fields, display, count=None):
    """The values of fields, a list for each packet that the display filter passes.

    At most count frames are read.  Packets are yielded one by one, because a capture
    may have millions.
    """
    command = ["tshark", "-n", "-r", path, "-T", "fields", "-Y", display]
    if count:
        command += ["-c", str(count)]
    for field in fields:
        command += ["-e", field]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield line.rstrip("\n").split("\t")
    assert process.returncode == 0, f"{command}: {process.returncode}"


class Frame(bytes):
    """The captured part of a frame; length is that of the frame itself."""

    length = 0


def frames(path, count=None):
    """At most count frames of a capture file that the daemon wrote, as it is now.

    The daemon may be writing the last one, which then is left out.
    """
    with open(path, "rb") as file:
        header = file.read(24)
        assert header[:4] == struct.pack("<I", 0xa1b23c4d), "not a capture of the daemon's"
        for number in itertools.count():
            record = file.read(16)
            if len(record) < 16 or number == count:
                break
            captured, length = struct.unpack_from("<II", record, 8)
            frame = Frame(file.read(captured))
            if len(frame) < captured:
                break
            frame.length = length
            yield frame


def icrc_good(frame):
    """The ICRC that a RoCEv2 frame should have; None for other frames.

    Written from the specification (RoCEv2 annex A17.3.3) without any code of the
    daemon, so that it can find the daemon wrong.
    """
    at, kind = 12, struct.unpack_from("!H", frame, 12)[0]
    if kind == _ETHERTYPE_VLAN:
        at, kind = 16, struct.unpack_from("!H", frame, 16)[0]
    packet = bytearray(frame[at + 2:])
    if kind == _ETHERTYPE_IPV4:
        udp, protocol = 4 * (packet[0] & 15), packet[9]
        end = struct.unpack_from("!H", packet, 2)[0]
        varying = [1, 8, 10, 11]
    elif kind == _ETHERTYPE_IPV6:
        udp, protocol = 40, packet[6]
        end = 40 + struct.unpack_from("!H", packet, 4)[0]
        packet[0] |= 0x0f  # the upper half of the traffic class
        varying = [1, 2, 3, 7]
    else:
        return None
    if protocol != _IPPROTO_UDP or struct.unpack_from("!H", packet, udp + 2)[0] != ROCE_PORT:
        return None
    for offset in (*varying, udp + 6, udp + 7, udp + 8 + 4):
        packet[offset] = 0xff
    wanted = struct.pack("<I", zlib.crc32(b"\xff" * 8 + packet[:end - 4]))
    return bytes(packet[end - 4:end]) == wanted

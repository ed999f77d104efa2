#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Makes seeds for a fuzzer.

usage: fuzz_seeds.py packets|messages|commands|requests|rings|state|handover|node DIRECTORY

What the bytes mean stands at the top of the fuzzer of that name.
"""

import pathlib
import re
import sys

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"


def extended(frame):
    """The frame of XRC that has as much of a golden one of RC as it can; None of another.
    The fuzzer builds it again, and so its ICRC is."""
    opcode = frame[42]
    if frame[12:14] != b"\x08\0" or opcode > 20:
        return None
    srqn = b"" if 13 <= opcode <= 18 else bytes(4)
    ip = bytearray(frame[14:34])
    ip[2:4] = (int.from_bytes(ip[2:4], "big") + len(srqn)).to_bytes(2, "big")
    ip[10:12] = bytes(2)
    total = sum(int.from_bytes(ip[at:at + 2], "big") for at in range(0, 20, 2))
    total = (total & 0xffff) + (total >> 16)
    ip[10:12] = (0xffff - total).to_bytes(2, "big")
    udp = (int.from_bytes(frame[38:40], "big") + len(srqn)).to_bytes(2, "big")
    return (frame[:14] + bytes(ip) + frame[34:38] + udp + frame[40:42]
            + bytes([0xa0 | opcode]) + frame[43:54] + srqn + frame[54:])


def packets():
    """One of each golden packet, aimed and as it is, and some of neighbouring packets: a
    message of several packets stands together in the file."""
    aimed, raw, timed, neighbours = 3, 4, 11, 6

    def seed(how, frames):
        return bytes([how]) + b"".join(len(frame).to_bytes(2, "little") + frame
                                       for frame in frames)

    for golden in sorted(GOLDEN.glob("*.hex")):
        frames = [bytes.fromhex(line) for line in golden.read_text().split()]
        for how in (aimed, raw):
            yield from (seed(how, [frame]) for frame in frames)
        for how in (aimed, timed):
            yield from (seed(how, frames[start:start + neighbours])
                        for start in range(0, len(frames), neighbours // 2))
        frames = list(filter(None, map(extended, frames)))
        for how in (aimed, timed):
            yield from (seed(how, frames[start:start + neighbours])
                        for start in range(len(frames)))


def messages():
    """Each request, to a front-end that runs and to one that does not, in one piece and in
    two; what QEMU does when the guest is paused, restarted, or gets memory."""
    kick, memory, queue, config, reconnect, hand_over, kill = 48, 49, 50, 51, 53, 54, 55
    requests = (1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 21, 24, 25, 34,
                36, 37, 38, 42, 43)
    # A buffer of two descriptors in the rings of queue 0.
    buffer = (bytes([memory, 0, 0, 0, 32])
              + (0x40004000).to_bytes(8, "little") + (16).to_bytes(4, "little")
              + (1).to_bytes(2, "little") + (1).to_bytes(2, "little")
              + (0x40005000).to_bytes(8, "little") + (16).to_bytes(4, "little")
              + (2).to_bytes(2, "little") + bytes(2)
              + bytes([memory, 0, 2, 1, 2, 1, 0]) + bytes([kick, 0]))
    for begin in (0, 1, 3):
        for request in requests:
            yield bytes([begin, request, 1, 0])
            yield bytes([begin, request, 5, 0])
    yield b"\x03" + buffer
    stop = bytes([11, 0, 0])
    start = b"".join(bytes([request, 1, 0]) for request in (8, 10, 9, 12, 13, 18))
    yield b"\x03" + buffer + stop + start
    yield b"\x03" + stop + bytes([10, 0, 5, 0, 0, 0, 0, 3]) + start
    yield b"\x03" + bytes([5, 1, 0]) + buffer
    yield b"\x03" + bytes([34, 1, 0]) + start + buffer
    # The region with the rings goes and comes back.
    yield b"\x03" + bytes([38, 1, 0, 37, 1, 0]) + buffer
    yield b"\x01" + bytes([38, 1, 0]) + start + bytes([37, 1, 0]) + buffer
    yield b"\x03" + bytes([reconnect, 3]) + buffer
    yield b"\x03" + bytes([config, 0])
    # Another front-end goes on, with the state as it is and with a byte changed.
    yield b"\x03" + buffer + bytes([hand_over, 0]) + buffer + stop + start
    yield b"\x03" + buffer + bytes([kill, 0]) + buffer + stop + start
    for at in range(0, 1200, 40):
        yield (bytes([3, kill, 1]) + at.to_bytes(3, "little") + b"\x01\x01" + buffer)
    yield b"\x03" + bytes([11, 2, 0, hand_over, 0]) + start + buffer
    for begin in (0, 1, 3):
        for at in range(0, 280, 2):
            yield (bytes([begin, hand_over, 2]) + at.to_bytes(2, "little") + b"\x01\x01"
                   + (at + 1).to_bytes(2, "little") + b"\x01\xff" + buffer)
    # The state counts fewer queues than it has: bytes are left at the end of the section.
    yield bytes([3, hand_over, 2, 0x88, 1, 1, 1, 0xeb]) + bytes(8) + b"\x01\0\0\x15" + buffer
    yield b"\x01" + bytes([queue, 0, 0, 1]) + start + bytes([kick, 0])
    for kind in range(8):
        for request in (5, 12, 13, 14, 21):
            yield b"\x03" + bytes([request, 17, 16 + kind, 0]) + bytes([kick, 0])


def command_rows():
    """The operations that are commands, by name and form, as fuzz_commands.c lists them."""
    source = pathlib.Path(__file__).with_name("fuzz_commands.c").read_text(encoding="utf-8")
    begin, end = map(source.index, ("struct row rows[]", "_Static_assert(ARRAY_SIZE(rows)"))
    return re.findall(r"\{ CMD\((\w+)\), ([^,]+),", source[begin:end])


def commands():
    """Each command alone and with each other one behind it, in good form and in pieces."""
    post, _ring, poll, queue, memory, reset = range(64, 70)
    rows = command_rows()
    numbers = range(len(rows))

    def say(*names):
        """Good commands, "NAME" or "NAME FORM" of one that has several."""
        return b"".join(bytes([next(i for i, row in enumerate(rows)
                                    if f"{row[0]} {row[1]}".startswith(f"{name} ")
                                    or f"{row[0]} {row[1]}" == name), 0, 0])
                        for name in names)

    for begin in (0, 1, 3):
        yield from (bytes([begin, number, how, 0]) for number in numbers for how in (0, 16, 64))
        yield from (bytes([begin, number, how, by, 0]) for number in numbers for how in (4, 8)
                    for by in (1, 255, 252, 248))
    yield from (bytes([1, first, 0, 0, second, 0, 0]) for first in numbers
                for second in numbers)
    traffic = bytes([post, 0, 0, poll, 0])
    gone, there, again = bytes([memory, 1]), bytes([memory, 0]), bytes([reset, 1])
    yield b"\x01" + traffic
    for taken in range(13):
        yield b"\x01" + bytes([post, 1, 0, queue, 0, taken, poll, 0]) + traffic
    yield b"\x01" + gone + bytes([poll, 0]) + traffic + there + traffic
    yield b"\x01" + again + traffic
    for taken in (13, 14, 15, 16, 17, 18):
        yield b"\x01" + bytes([post, 1, 0, queue, 0, taken, poll, 0]) + traffic
    to_rts = say("MODIFY_QP") * 3
    # A direct CQ and a doorbell page.
    ground = say("CREATE_CQ REQ(create_cq_long) + 8", "ALLOC_DOORBELL")
    # A QP of both, to RTS.
    direct = ground + say("CREATE_QP QP_OWN") + to_rts
    yield b"\x01" + direct + traffic * 3
    yield b"\x01" + direct + traffic + gone + traffic + there + traffic
    yield b"\x01" + direct + traffic + say("DESTROY_QP", "DESTROY_CQ", "FREE_DOORBELL") + traffic
    yield b"\x01" + direct + again + traffic
    # The CQ gets another ring.
    yield b"\x01" + direct + traffic + say("RESIZE_CQ") + traffic * 3 + say("RESIZE_CQ") + traffic
    # A QP whose CQ has times: flags and size of a completion differ.
    timed = say("CREATE_CQ REQ(create_cq_long) + 8")[:2] + bytes([6, 0, 0, 0, 0, 4, 3])
    timed += say("ALLOC_DOORBELL", "CREATE_QP QP_OWN") + to_rts
    yield b"\x01" + timed + traffic * 3 + say("QUERY_CLOCK", "RESIZE_CQ") + traffic
    # A QP with an SRQ, to RTS; the limit, and what it is then.
    shared = say("CREATE_SRQ") + ground + say("CREATE_QP QP_SHARED") + to_rts
    yield (b"\x01" + shared + traffic * 3 + say("MODIFY_SRQ", "QUERY_SRQ") + traffic
           + say("QUERY_SRQ"))
    yield b"\x01" + shared + traffic + say("DESTROY_SRQ", "DESTROY_QP", "DESTROY_SRQ") + traffic
    yield b"\x01" + shared + gone + traffic + there + traffic
    yield b"\x01" + shared + traffic + again + traffic
    # The SRQ gets another ring.
    yield b"\x01" + shared + say("RESIZE_SRQ") + traffic * 3 + say("RESIZE_SRQ") + traffic
    # A region of all memory, attributes, controllers of both kinds, a namespace, the QP enabled.
    offload = (say("GET_DMA_MR") + shared
               + say("SET_SRQ_NVMF", "CREATE_NVME_CTRL", "MAP_NSID", "CREATE_NVME_CTRL",
                     "SET_QP_NVMF"))
    yield b"\x01" + offload + traffic * 3
    yield (b"\x01" + offload + traffic
           + say("QUERY_NVMF", "QUERY_NAMESPACE", "UNMAP_NSID", "DESTROY_NVME_CTRL") + traffic)
    yield b"\x01" + offload + traffic + say("DESTROY_QP", "DESTROY_NVME_CTRL", "DESTROY_SRQ")
    yield b"\x01" + offload + gone + traffic + again + traffic
    # A RAW_PACKET QP to RTS, which hears itself by a rule.
    frames = ground + say("CREATE_QP QP_RAW") + to_rts
    rule = say("CREATE_FLOW")
    yield b"\x01" + frames + traffic + rule + traffic * 3 + say("DESTROY_FLOW") + traffic
    yield b"\x01" + frames + rule * 20 + traffic + say("DESTROY_QP") + traffic
    yield b"\x01" + frames + rule + traffic + gone + traffic + again
    yield b"\x01" + frames + say("CREATE_FLOW_LONG") + traffic + say("QUERY_FLOW") + traffic
    # A work queue in RTR, a table, a QP that spreads frames over it, a rule; frames for it.
    spread = (ground + say("CREATE_QP QP_WQ", "MODIFY_QP", "CREATE_WQ_TABLE", "CREATE_RX_HASH_QP")
              + rule + say("CREATE_QP QP_RAW") + to_rts)
    yield b"\x01" + spread + traffic * 3
    yield b"\x01" + spread + traffic + gone + traffic + again
    yield b"\x01" + spread + say("DESTROY_QP", "DESTROY_WQ_TABLE", "DESTROY_QP") + traffic
    # A domain, an XRC SRQ, and a QP of each end of a connection.
    extended = say("CREATE_CQ REQ(create_cq_long) + 8", "CREATE_XRCD", "CREATE_XRC_SRQ")
    target = say("CREATE_QP QP_LONG") + to_rts
    initiator = say("ALLOC_DOORBELL", "CREATE_QP QP_INI") + to_rts
    yield (b"\x01" + extended + target + traffic
           + say("DESTROY_QP", "DESTROY_SRQ", "DESTROY_XRCD"))
    yield (b"\x01" + extended + target
           + say("DESTROY_XRCD", "DESTROY_SRQ", "DESTROY_XRCD", "DESTROY_QP", "DESTROY_XRCD"))
    yield b"\x01" + extended + initiator + traffic * 3 + say("DESTROY_SRQ") + traffic
    yield b"\x01" + extended + initiator + target + traffic * 2 + again + traffic
    # A region whose list is elsewhere, and one that is changed to such a list; with less memory.
    for listed in (say("REG_USER_MR REQ(reg_user_mr) + 8"), say("REREG_MR_LONG")):
        yield b"\x01" + listed + traffic
        yield b"\x01" + gone + listed + traffic + there + listed + traffic
    # Several pairs of Ethernet queues: each command, tables of each size, a length that differs.
    pairs, frame = 70, 71
    frames = b"".join(bytes([frame, how, 0]) for how in (200, 201, 202))
    for start in (b"\x08", b"\x0a", b"\x0c", b"\x09", b"\x00"):
        for number in range(3):
            yield start + bytes([pairs, number, 0, 0]) + frames
            yield start + bytes([pairs, number, 1, 0]) + bytes([pairs, number, 255, 0]) + frames
            yield start + bytes([pairs, number | 128, 0, 0]) + frames + again
    for log_size in range(8):
        yield b"\x08" + bytes([pairs, 4 * log_size + (1 - log_size) % 3, 0, 0]) + frames
        yield b"\x08" + bytes([pairs, 1, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1 << log_size]) + frames
    for taken in range(7):
        yield b"\x08" + bytes([pairs, 0, 0, 0, queue, 0, taken]) + frames + bytes([queue, 0, taken])
    # A UD QP: type 4 in CREATE_QP, then to RTS.
    datagrams = say("CREATE_QP")[:2] + bytes([5, 0, 0, 0, 0, 6]) + to_rts
    yield (b"\x01" + datagrams + traffic + say("ATTACH_MCAST") + traffic + say("DETACH_MCAST")
           + say("QUERY_QP_COUNTERS"))


def requests():
    """Each opcode on each QP, one and several at a time; slots and rings that change."""
    send, recv, ring, slot, data, run, time, poll = range(8)
    quiet = 64

    def sent(which, opcode, what=send):
        return bytes([what, which, opcode, 0, 0, 0, 0])

    for where in (0, 1, 3, 250, 251):
        for which in range(5):
            for opcode in range(13):
                yield bytes([where]) + sent(which, opcode) + bytes([poll, 0])
                yield (bytes([where]) + bytes([data, 0, 0, 0, 0])
                       + sent(which, opcode, quiet | send) * 3
                       + bytes([time, 0, run, 0, poll, 0]))
            # The bit of inline data, and 33 bytes of it where num_sge would stand.
            yield (bytes([where, send, which, 2, 10]) + bytes(9) + bytes([8])
                   + bytes([48, 2, 1, 32, poll, 0]))
            yield bytes([where, recv, which, 0, slot, which, 1, 0, 0, 0, 0])
            for kind in range(3):
                yield bytes([where]) + sent(which, 2) + bytes([ring, which, kind, 2, 1, 200])


def rings():
    """Each opcode on each QP; indices, control blocks, pages and requests that change."""
    (send, recv, control, cq_control, page, slot, run, time, poll, create_qp, create_cq,
     events, sleep, memory, arm, reset, srq) = range(17)
    quiet = 64

    def sent(which, opcode, what=send):
        return bytes([what, which, opcode, 0])

    def patch(what, which, where, *values):
        return bytes([what, which]) + where.to_bytes(2, "little") + bytes([len(values), *values])

    message = bytes([srq, 2, 0])
    yield message * 8 + bytes([poll, 2])
    yield bytes([srq, 2, 2, 3, events, 0, 4]) + message * 4 + bytes([events, 0, 4])
    for where in (0, 1, 32):
        yield message + bytes([srq, 2, 1, where, 0, 1, 9]) + message + bytes([reset, 2]) + message
    yield bytes([recv, 2, 1, 0, 255]) * 4 + message * 8
    for where in range(0, 32, 4):
        yield bytes([srq, 2, 3, where, 0, 1, 255]) + message

    for which in range(3):
        for opcode in range(12):
            yield sent(which, opcode) + bytes([poll, which])
            yield sent(which, opcode, quiet | send) * 3 + bytes([run, which, time, 0, poll, which])
        two = sent(which, 2) * 2
        # Inline data: the bit, and a length.
        yield bytes([send, which, 2, 4, 0, 10, 33, 0, poll, which])
        for where in (0, 4, 32):
            for value in (1, 16, 255):
                yield two + patch(control, which, where, value)
                yield two + patch(cq_control, which, where, value) + two
        for where in (0, 64, 95, 2048, 4095):
            yield two + patch(page, which, where, 255) + bytes([sleep, 0]) + two
        yield two + bytes([slot, which, 0, 0, 0, 4, 255, 255, 255, 255]) + two
        for value in range(4):
            yield (bytes([events, 0, 4, arm, which, value]) + two + bytes([arm, which, value])
                   + two + bytes([events, 0, 4]))
        yield two + bytes([memory, 0]) + two + bytes([reset, which]) + two
        yield two * 20 + bytes([poll, which]) + two
        yield bytes([recv, which, 1, 255]) + two + bytes([time, 0]) + two
        for where in range(32):
            yield bytes([create_cq, which]) + where.to_bytes(2, "little") + bytes([1, 1, 0, 0, 0])
    for where in range(56):
        yield (bytes([create_qp, 0]) + where.to_bytes(2, "little") + bytes([1, 1])
               + bytes(6))


def state():
    """A byte of a state that changes, here and there, and states that end early."""
    for at in range(0, 30000, 61):
        for value in (0, 1, 255):
            yield at.to_bytes(2, "little") + bytes([1, value])
        yield at.to_bytes(2, "little") + bytes([255])
    for at in range(0, 30000, 401):
        yield at.to_bytes(2, "little") + bytes([8]) + bytes([255] * 8)


def handover():
    """A byte of the process's sections that changes, and of its guests' functions, whole and in
    parts; states that end early; descriptors in each other's place."""
    swap, cut, process, guest = 254, 255, 1010, 1900
    for how in (0, 1):
        for at in range(process):
            yield bytes([how]) + at.to_bytes(2, "little") + bytes([1, 255])
        for at in range(process, guest, 7):
            yield bytes([how]) + at.to_bytes(2, "little") + bytes([1, 255])
        for at in [*range(0, process, 9), *range(process, 60000, 1999)]:
            yield bytes([how]) + at.to_bytes(2, "little") + bytes([cut])
        for here in range(16):
            for there in range(16):
                yield bytes([how, 0, 0, swap, here, there])
        for at in range(0, process, 4):
            yield bytes([how]) + at.to_bytes(2, "little") + bytes([4] + [255] * 4)
    piped = 2
    for at in [*range(process, guest), *range(guest, 60000, 499)]:
        yield bytes([piped]) + at.to_bytes(2, "little") + bytes([1, 255])
    for at in range(process, 60000, 499):
        yield bytes([piped]) + at.to_bytes(2, "little") + bytes([cut])


def nvmf():
    """Each command on each connection, changed in each field, held back and with its queue
    ended; and several."""
    ops = 8
    send, _, go, hold, release, time, reopen, memory = range(ops)

    def sent(conn, which, at=0, change=b"", more=0):
        return bytes([send + ops * conn, which, at, len(change)]) + change + bytes([more, 0])

    for conn in range(4):
        for which in (*range(12), 40, 100, 128, 129):
            one = sent(conn, which, 0, b"", 128)
            yield one
            yield bytes([hold + 3 * ops]) + one * 3 + bytes([release, go + ops * conn]) * 2
            yield (bytes([hold + 3 * ops]) + one + bytes([reopen + ops * conn, release])
                   + sent(conn, 128) + one)
            for at in (0, 1, 4, 24, 32, 35, 39, 40, 42, 44, 48, 51, 52):
                yield sent(conn, which, at, bytes([1]), 128) + one
                yield sent(conn, which, at, bytes([255]), 128) + one
        yield sent(conn, 128) + bytes([time, 200, time, 200]) + sent(conn, 0) * 3
        for at in (0, 16, 256, 512, 767):
            yield (bytes([memory]) + at.to_bytes(2, "little") + bytes([2, 255, 1])
                   + sent(conn, 128))
    yield sent(0, 5) + bytes([time, 9, time, 11]) + sent(1, 0)
    # A Connect that waits for what the connections before have left behind.
    stuck = bytes([hold + 2 * ops]) + sent(1, 0) * 3 + bytes([reopen + ops, reopen])
    for then in (b"", bytes([time, 255] * 2), bytes([time, 255] * 3), bytes([reopen]),
                 sent(0, 128), bytes([reopen + 2 * ops]) + sent(2, 128)):
        for last in (bytes([release]), bytes([reopen, release]), b""):
            yield stuck + sent(0, 128) + then + last + sent(0, 128) + sent(0, 5)
    yield bytes([hold + 2 * ops]) + sent(1, 7) * 8 + bytes([release, reopen + ops, release])


def node():
    """Good frames and messages, each byte of them changed, in the order of a connection."""
    frame, message, time, end, forget, post = range(6)
    req, mra, rej, rtu, dreq, sidr = 0, 1, 2, 4, 5, 7

    def said(kind, which=0, at=0, *patch):
        return bytes([message, kind, which, at, len(patch), *patch])

    for which in range(4):
        yield bytes([frame, which, 0, 0])
        for at in range(86):
            yield bytes([frame, which, at, 1, 1 << at % 8] if which < 2 else [frame, which, at, at, 0])
    for at in range(256):
        yield said(req, 0, at, 1 << at % 8) + said(rtu)
        for kind in (mra, rej, rtu, dreq, sidr):
            yield said(req) + said(kind, 0, at % 48, 0x80 >> at % 8)
    yield said(req) + said(rtu) + bytes([post, 0, time, 200]) + said(dreq)
    yield said(req) + said(req) + bytes([time, 12]) + said(req) + bytes([time, 100])
    yield said(req) + said(req, 1) + bytes([end, 0]) + said(dreq) + said(dreq, 1)
    yield bytes([forget]) + said(req) + bytes([frame, 0, 0, 0]) + said(rtu)
    yield bytes([forget]) + said(req) * 40 + bytes([time, 30])
    yield b"".join(said(req, number) for number in range(40)) + bytes([time, 90])


def main():
    """Writes them."""
    makers = {maker.__name__: maker
              for maker in (packets, messages, commands, requests, rings, state, handover,
                            nvmf, node)}
    target = pathlib.Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(makers[sys.argv[1]]()):
        (target / f"seed-{number:04}").write_bytes(data)


main()

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Memory regions and messages of many sizes, with contents checked.

memory.py sizes DEVICE           regions of 1 byte to 1 GiB, unaligned
memory.py huge DEVICE            regions over huge pages, 32 of 2 MiB
memory.py gigantic DEVICE [START]   a region over a page of 1 GiB, at START or behind it
memory.py shared DEVICE          memory that has a file: memfd, tmpfs, a disk
memory.py wide DEVICE LENGTH PIECE [huge]   a piece of memory again and again, in one region
memory.py readonly DEVICE        a file that is mapped read-only
memory.py again DEVICE           one piece of memory registered again and again
memory.py change DEVICE          regions that get other memory, rights, domains
memory.py zero DEVICE            a region whose first byte has address 0
memory.py dmabuf DEVICE          memory that another driver exports
memory.py deregister DEVICE ROUNDS  keys that end while work with them is in flight
memory.py domains DEVICE         keys of another protection domain
memory.py large DEVICE LENGTH [SERVER]   messages from one guest to another
"""

import errno
import fcntl
import json
import mmap
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

from pyverbs import enums
from pyverbs.mr import DmaBufMR, MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError

from ends import (ACCESS_ALL, MAP_HUGETLB, MAP_NORESERVE, MIB, PAGE, End, Memory, Peer,
                  check, close, connected, expect, request)

GIB = 1 << 30
MAP_HUGE_1GB = 30 << 26

# The test makes it when it has looked at the daemon.
LOOKED = "/tmp/looked-at-the-daemon"

READ, WRITE, SEND = enums.IBV_WR_RDMA_READ, enums.IBV_WR_RDMA_WRITE, enums.IBV_WR_SEND
GUARD = 2 * PAGE


# Bounds

def check_inside(a, local, mr, memory, offset, length):
    """WRITE and READ of a piece; bytes beside it must not change."""
    scratch, smr = local
    data = random.randbytes(length)
    scratch.write(data)
    before = memory.read(16, offset - 16), memory.read(16, offset + length)
    remote = (memory.address + offset, mr.rkey)
    a.qp.post_send(request(WRITE, smr, scratch.address, length, remote=remote))
    expect(a, "SUCCESS", "WRITE", offset, length)
    check(memory.equals(data, offset), "contents of WRITE", offset, length)
    after = memory.read(16, offset - 16), memory.read(16, offset + length)
    check(before == after, "neighbours of", offset, length)
    a.qp.post_send(request(READ, smr, scratch.address + length, length, remote=remote))
    expect(a, "SUCCESS", "READ", offset, length)
    check(scratch.equals(data, length), "contents of READ", offset, length)


def check_outside(device, of, local, mr, address, length):
    """WRITE and READ of a piece that is partly outside must fail."""
    scratch, smr = local
    for opcode in (WRITE, READ):
        a, b = connected(device, of=of)
        a.qp.post_send(request(opcode, smr, scratch.address, length,
                               remote=(address, mr.rkey)))
        expect(a, "REM_ACCESS_ERR", hex(address), length)
        close(a, b)


def pieces(length):
    """Parts of a region to check: all of it if it is small."""
    if length <= MIB:
        return [(0, length)]
    return [(0, 4097), (length // 2 - 1, MIB), (length - 4099, 4099)]


def check_region(device, ends, local, memory, offset, length):
    """One region: exactly as large as it should be."""
    a, b = ends
    mr = MR(b.pd, length, ACCESS_ALL, address=memory.address + offset)
    for start, part in pieces(length):
        check_inside(a, local, mr, memory, offset + start, part)
    memory.fill(0x5a, offset + length, 16)
    first, end = memory.address + offset, memory.address + offset + length
    check_outside(device, b, local, mr, end - 1, 2)
    check_outside(device, b, local, mr, first - 1, 1)
    check(memory.is_filled(0x5a, offset + length, 16), "written beyond the end")
    mr.close()


def scratch_for(pd):
    """Memory to send from and to read into."""
    scratch = Memory(2 * MIB + PAGE)
    return scratch, MR(pd, scratch.length, ACCESS_ALL, address=scratch.address)


def sizes(device):
    """Regions from 1 byte to 1 GiB."""
    a, b = connected(device)
    local = scratch_for(a.pd)
    for length in (1, 2, 7, 4095, 4096, 4097, 8191, 65536, MIB - 1, 64 * MIB + 3, 1 << 30):
        memory = Memory(length + 2 * GUARD + PAGE)
        offsets = (GUARD, GUARD + 1, GUARD + 4095) if length <= 65536 else (GUARD + 1234,)
        for offset in offsets:
            start = time.monotonic()
            check_region(device, (a, b), local, memory, offset, length)
        print(f"region of {length}: {time.monotonic() - start:.3f} s", flush=True)
        memory.free()


def huge(device):
    """Huge pages, as a whole and a part that begins in one and ends in another."""
    a, b = connected(device)
    local = scratch_for(a.pd)
    memory = Memory(64 * MIB, flags=MAP_HUGETLB)
    check_region(device, (a, b), local, memory, 2 * MIB + 12345, 40 * MIB + 1)
    mr = MR(b.pd, memory.length, ACCESS_ALL, address=memory.address)
    check_told(memory.length, 32, 2 * MIB)
    check_inside(a, local, mr, memory, 2 * MIB - 77, 8192)
    check_outside(device, b, local, mr, memory.address + memory.length - 1, 2)
    print("huge pages", flush=True)


def check_told(length, pages, size):
    """Checks what the device was told of the region of this length.

    Its pages are larger if those of the region lie side by side in memory, which is chance.
    """
    listed = json.loads(subprocess.run(["rdma", "-j", "-dd", "resource", "show", "mr"],
                                       check=True, stdout=subprocess.PIPE).stdout)
    told = [(each["drv_pages"], each["drv_page_size"]) for each in listed
            if each.get("pid") == os.getpid() and each.get("mrlen") == length]
    check(len(told) == 1 and told[0][0] * told[0][1] == pages * size and told[0][1] >= size,
          told, "instead of", pages, size)


def physical(address):
    """Where a page is in the guest's memory."""
    with open("/proc/self/pagemap", "rb") as pagemap:
        entry, = struct.unpack("=Q", os.pread(pagemap.fileno(), 8, address // PAGE * 8))
    check(entry >> 63, "no page at", hex(address))
    return (entry & ((1 << 55) - 1)) * PAGE


def gigantic(device, start="0"):
    """A whole page of 1 GiB, which is one entry of the list, and a part of it."""
    a, b = connected(device)
    local = scratch_for(a.pd)
    memory = Memory(GIB, flags=MAP_HUGETLB | MAP_HUGE_1GB)
    memory.write(b"touched")
    at = physical(memory.address)
    check(at % GIB == 0 and at >= int(start, 0), "the page is at", hex(at))
    mr = MR(b.pd, GIB, ACCESS_ALL, address=memory.address)
    check_told(GIB, 1, GIB)
    for offset in (16, GIB // 2 - 77, GIB - 8192 - 16):
        check_inside(a, local, mr, memory, offset, 8192)
    for address in (memory.address - 1, memory.address + GIB - 1):
        check_outside(device, b, local, mr, address, 2)
    mr.rereg(CHANGE_TRANSLATION, addr=memory.address + PAGE + 5, length=GIB - 2 * PAGE)
    check_inside(a, local, mr, memory, PAGE + 5, 8192)
    check_outside(device, b, local, mr, memory.address + PAGE + 4, 1)
    mr.close()
    print(f"a page of 1 GiB at {at:#x}", flush=True)


def shared(device):
    """Data that RDMA writes is in the file, also when the region's mapping is gone."""
    of = End(device)
    local = scratch_for(of.pd)
    length = 300 * PAGE
    for directory in (None, "/dev/shm"):
        file = tempfile.TemporaryFile(dir=directory) if directory else \
            os.fdopen(os.memfd_create("region"), "r+b")
        with file:
            os.ftruncate(file.fileno(), length)
            memory, other = (Memory(length, flags=mmap.MAP_SHARED, fd=file.fileno())
                             for _ in range(2))
        mr = MR(of.pd, length, ACCESS_ALL, address=memory.address)
        address = memory.address
        memory.free()
        for offset in (0, 100 * PAGE - 4, length - 8):
            data = random.randbytes(8)
            local[0].write(data)
            remote_write(device, of, local, (address + offset, mr.rkey), "SUCCESS")
            check(other.equals(data, offset), "contents of the file", directory, offset)
    # The kernel does not let go on with what has to be written to a disk.
    with tempfile.TemporaryFile(dir="/root") as file:
        file.write(random.randbytes(length))
        file.flush()
        memory = Memory(length, flags=mmap.MAP_SHARED, fd=file.fileno())
    expect_errno(errno.EFAULT, "a file of a disk, to be written to",
                 lambda: MR(of.pd, length, ACCESS_ALL, address=memory.address))
    mr = MR(of.pd, length, enums.IBV_ACCESS_REMOTE_READ, address=memory.address)
    a, b = connected(device, of=of)
    a.qp.post_send(request(READ, local[1], local[0].address, length,
                           remote=(memory.address, mr.rkey)))
    expect(a, "SUCCESS", "READ of a file")
    check(local[0].equals(memory.read(length)), "contents of the disk's file")
    close(a, b)
    print("shared", flush=True)


def wide(device, length, piece, kind="small"):
    """A region that is larger than the guest: the same memory in many places."""
    length, piece = int(length), int(piece)
    flags = os.MFD_HUGETLB if kind == "huge" else 0
    memfd = os.memfd_create("piece", flags)
    os.ftruncate(memfd, piece)
    memory = Memory(length, protection=0, flags=MAP_NORESERVE, align=GIB)
    for offset in range(0, length, piece):
        memory.replace(offset, piece, memfd)
    of = End(device)
    local = scratch_for(of.pd)
    local[0].write(b"contents")
    start = time.monotonic()
    mr = MR(of.pd, length, ACCESS_ALL, address=memory.address)
    seconds = time.monotonic() - start
    if kind == "huge":
        check_told(length, length // (2 * MIB), 2 * MIB)
    for offset in (length - 8, length // 2 + 12345, 77, piece - 8 - PAGE):
        memory.fill(0, offset % piece, 8)
        remote_write(device, of, local, (memory.address + offset, mr.rkey), "SUCCESS")
        check(memory.equals(b"contents", offset % piece), "contents at", offset)
    remote_write(device, of, local, (memory.address + length - 7, mr.rkey), "REM_ACCESS_ERR")
    print(f"registered {length}: {seconds:.3f} s", flush=True)
    while not os.path.exists(LOOKED):
        time.sleep(0.1)
    os.unlink(LOOKED)
    start = time.monotonic()
    mr.close()
    print(f"deregistered: {time.monotonic() - start:.3f} s", flush=True)


def readonly(device):
    """The file can be sent and read; the region may not have the right to write."""
    a, b = connected(device)
    data = random.randbytes(300000)
    with tempfile.TemporaryFile(dir="/root") as file:
        file.write(data)
        file.flush()
        memory = Memory(len(data), protection=mmap.PROT_READ, fd=file.fileno())
    try:
        MR(b.pd, len(data), ACCESS_ALL, address=memory.address)
        check(False, "registered for writing")
    except PyverbsRDMAError as error:
        check(error.error_code == errno.EFAULT, error)
    mr = MR(b.pd, len(data), enums.IBV_ACCESS_REMOTE_READ, address=memory.address)
    scratch, smr = scratch_for(a.pd)
    a.qp.post_send(request(READ, smr, scratch.address, len(data),
                           remote=(memory.address, mr.rkey)))
    expect(a, "SUCCESS", "READ of a file")
    check(scratch.equals(data), "contents of the file, read")
    scratch.fill(0)
    a.recv(smr, scratch.address, len(data))
    b.send(mr, memory.address, len(data))
    expect(b, "SUCCESS", "SEND of a file")
    expect(a, "SUCCESS", "SEND of a file")
    check(scratch.equals(data), "contents of the file, sent")
    for opcode, status in ((WRITE, "REM_ACCESS_ERR"), (SEND, "REM_OP_ERR")):
        c, d = connected(device, of=a)
        d.recv(mr, memory.address, 100, wr_id=1)
        c.qp.post_send(request(opcode, smr, scratch.address, 100,
                               remote=(memory.address, mr.rkey)))
        expect(c, status)
        expect(d, "LOC_PROT_ERR" if opcode == SEND else "WR_FLUSH_ERR")
        close(c, d)
    check(memory.equals(data), "the file's pages were changed")
    print("read-only", flush=True)


def again(device):
    """Old keys of the same memory never work again."""
    a, b = connected(device)
    scratch, smr = scratch_for(a.pd)
    memory = Memory(65536)
    old = []
    for number in range(300):
        mr = MR(b.pd, memory.length, ACCESS_ALL, address=memory.address)
        check(mr.rkey not in old, "a key came back at once")
        scratch.write(number.to_bytes(8, "little"))
        a.qp.post_send(request(WRITE, smr, scratch.address, 8, remote=(memory.address, mr.rkey)))
        expect(a, "SUCCESS", number)
        check(memory.equals(number.to_bytes(8, "little")), "contents of", number)
        old.append(mr.rkey)
        mr.close()
    mr = MR(b.pd, memory.length, ACCESS_ALL, address=memory.address)
    memory.fill(0x11)
    for rkey in old[::15] + old[-3:]:
        c, d = connected(device, of=a)
        c.qp.post_send(request(WRITE, smr, scratch.address, 8, remote=(memory.address, rkey)))
        expect(c, "REM_ACCESS_ERR", hex(rkey))
        close(c, d)
    check(memory.is_filled(0x11, 0, memory.length), "written by an old key")
    print("registered again", flush=True)


# Regions that change

CHANGE_ACCESS, CHANGE_PD, CHANGE_TRANSLATION = (
    enums.IBV_REREG_MR_CHANGE_ACCESS, enums.IBV_REREG_MR_CHANGE_PD,
    enums.IBV_REREG_MR_CHANGE_TRANSLATION)


def remote_write(device, of, local, target, status):
    """8 bytes by WRITE to (address, rkey)."""
    scratch, smr = local
    a, b = connected(device, of=of)
    a.qp.post_send(request(WRITE, smr, scratch.address, 8, remote=target))
    expect(a, status, hex(target[0]))
    close(a, b)


def change(device):
    """ibv_rereg_mr() in all forms: the keys stay, the region is another one."""
    of = End(device)
    local = scratch_for(of.pd)
    local[0].write(b"contents")
    first, second = Memory(64 * PAGE), Memory(300 * PAGE)
    mr = MR(of.pd, first.length, enums.IBV_ACCESS_REMOTE_READ, address=first.address)
    keys = mr.lkey, mr.rkey
    at = first.address, mr.rkey
    remote_write(device, of, local, at, "REM_ACCESS_ERR")
    mr.rereg(CHANGE_ACCESS, access=ACCESS_ALL)
    remote_write(device, of, local, at, "SUCCESS")
    check(first.equals(b"contents"), "contents with the right to write")

    mr.rereg(CHANGE_TRANSLATION, addr=second.address + 100, length=second.length - 100)
    remote_write(device, of, local, at, "REM_ACCESS_ERR")
    remote_write(device, of, local, (second.address + 99, mr.rkey), "REM_ACCESS_ERR")
    for offset in (100, 250 * PAGE + 17, second.length - 8):
        remote_write(device, of, local, (second.address + offset, mr.rkey), "SUCCESS")
        check(second.equals(b"contents", offset), "contents of the second one")
    remote_write(device, of, local, (second.address + second.length - 7, mr.rkey),
                 "REM_ACCESS_ERR")

    other = PD(of.context)
    mr.rereg(CHANGE_PD, pd=other)
    remote_write(device, of, local, (second.address + 100, mr.rkey), "REM_ACCESS_ERR")
    mr.rereg(CHANGE_PD | CHANGE_TRANSLATION | CHANGE_ACCESS, pd=of.pd, addr=first.address,
             length=PAGE, access=ACCESS_ALL)
    other.close()
    remote_write(device, of, local, (first.address + PAGE - 8, mr.rkey), "SUCCESS")
    check(keys == (mr.lkey, mr.rkey), "the keys changed")

    # A change that fails leaves the region as it was.
    for flags, more in ((CHANGE_TRANSLATION, {"addr": 4096, "length": PAGE}),
                        (CHANGE_ACCESS, {"access": 1 << 9})):
        try:
            mr.rereg(flags, **more)
            check(False, "changed to nonsense", more)
        except PyverbsRDMAError:
            pass
        remote_write(device, of, local, (first.address, mr.rkey), "SUCCESS")
    print("changed", flush=True)


def zero(device):
    """A region whose first byte, anywhere in a page, has address 0."""
    of = End(device)
    local = scratch_for(of.pd)
    local[0].write(b"contents")
    memory, start = Memory(4 * PAGE), PAGE + 77
    length = 2 * PAGE
    mr = MR(of.pd, length, ACCESS_ALL | enums.IBV_ACCESS_ZERO_BASED,
            address=memory.address + start)
    for offset in (0, PAGE, length - 8):
        remote_write(device, of, local, (offset, mr.rkey), "SUCCESS")
        check(memory.equals(b"contents", start + offset), "contents at", offset)
    for address in (length - 7, memory.address + start, (1 << 64) - 1):
        remote_write(device, of, local, (address, mr.rkey), "REM_ACCESS_ERR")
    # As the memory that is sent, too.
    a, b = connected(device, of=of)
    b.recv(local[1], local[0].address + 100, 8)
    a.send(mr, PAGE, 8)
    expect(a, "SUCCESS", "SEND")
    expect(b, "SUCCESS", "SEND")
    check(local[0].equals(b"contents", 100), "contents of SEND")
    print("zero-based", flush=True)


# _IOW('u', 0x42, struct udmabuf_create)
UDMABUF_CREATE = 0x40187542


def export(length):
    """Shared memory as a dma-buf: a descriptor of each."""
    memfd = os.memfd_create("exported", os.MFD_ALLOW_SEALING)
    os.ftruncate(memfd, length)
    fcntl.fcntl(memfd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    with open("/dev/udmabuf", "wb") as exporter:
        # The process's descriptor of it, which flags, from where, how much.
        # Only with a bytearray Python returns what ioctl() does.
        return memfd, fcntl.ioctl(exporter, UDMABUF_CREATE,
                                  bytearray(struct.pack("=IIQQ", memfd, 1, 0, length)))


def expect_errno(wanted, what, call):
    """A call that must fail."""
    try:
        call()
    except PyverbsRDMAError as error:
        check(error.error_code == wanted, what, error)
    else:
        check(False, what, "succeeded")


def dmabuf(device):
    """Parts of a buffer, also when nobody has its descriptors any more."""
    of = End(device)
    local = scratch_for(of.pd)
    memfd, buffer = export(MIB)
    memory = Memory(MIB, flags=mmap.MAP_SHARED, fd=memfd)
    whole = DmaBufMR(of.pd, MIB, ACCESS_ALL, buffer)
    part = DmaBufMR(of.pd, 3 * PAGE, ACCESS_ALL, buffer, offset=5 * PAGE + 77)

    expect_errno(errno.EINVAL, "beyond the end",
                 lambda: DmaBufMR(of.pd, PAGE, ACCESS_ALL, buffer, offset=MIB - PAGE + 1))
    expect_errno(errno.EINVAL, "no dma-buf", lambda: DmaBufMR(of.pd, PAGE, ACCESS_ALL, memfd))
    expect_errno(errno.EBADF, "nothing", lambda: DmaBufMR(of.pd, PAGE, ACCESS_ALL, 999))

    os.close(memfd)
    os.close(buffer)
    # The address of a byte is its place in the buffer.
    for mr, places in ((whole, (0, PAGE - 4, MIB - 8)), (part, (5 * PAGE + 77, 8 * PAGE + 69))):
        for place in places:
            data = random.randbytes(8)
            local[0].write(data)
            remote_write(device, of, local, (place, mr.rkey), "SUCCESS")
            check(memory.equals(data, place), "contents at", place)
    for mr, place in ((whole, MIB - 7), (part, 5 * PAGE + 76), (part, 8 * PAGE + 70)):
        remote_write(device, of, local, (place, mr.rkey), "REM_ACCESS_ERR")

    # And as the memory that is sent.
    memory.write(b"contents", 100)
    a, b = connected(device, of=of)
    b.recv(local[1], local[0].address + 100, 8)
    a.send(whole, 100, 8)
    expect(a, "SUCCESS", "SEND")
    expect(b, "SUCCESS", "SEND")
    check(local[0].equals(b"contents", 100), "contents of SEND")
    print("dma-buf", flush=True)


# Keys that end

# So many requests that the key ends in the middle of them.
WRS = 60
LENGTH = 4 * MIB
SLOTS = 4


def post_chain(a, b, opcode, source, target):
    """WRS requests from end a; source and target are (memory, region)."""
    local, remote = (target, source) if opcode == READ else (source, target)
    offsets = [number % SLOTS * LENGTH for number in range(WRS)]
    if opcode == SEND:
        for offset in offsets:
            b.recv(target[1], target[0].address + offset, LENGTH)
    chain = [request(opcode, local[1], local[0].address + offset, LENGTH,
                     remote=(remote[0].address + offset, remote[1].rkey))
             for offset in offsets]
    for wr, following in zip(chain, chain[1:]):
        wr.next_wr = following
    a.qp.post_send(chain[0])


def deregister_once(ends, memories, opcode, victim, delay):
    """Ends one key; returns the number of successful requests and the status after them."""
    a, b = ends
    memories["source"].fill(0x11)
    memories["target"].fill(0x22)
    mrs = {name: MR(a.pd, memory.length, ACCESS_ALL, address=memory.address)
           for name, memory in memories.items()}
    post_chain(a, b, opcode, *((memories[name], mrs[name]) for name in ("source", "target")))
    time.sleep(delay)
    mrs.pop(victim).close()
    # Only this process may use the memory now: the device must not read or write it.
    memories[victim].fill(0xee)
    statuses = [status for _, status, _ in a.completions(WRS)]
    target = memories["target"]
    if victim == "target":
        check(target.is_filled(0xee, 0, target.length), opcode, "written after its end")
    else:
        check(b"\xee" not in target.read(target.length), opcode, "read after its end")
    done = statuses.count("SUCCESS")
    check(statuses[:done] == ["SUCCESS"] * done and
          statuses[done + 1:] == ["WR_FLUSH_ERR"] * len(statuses[done + 1:]), statuses)
    mrs.popitem()[1].close()
    return done, statuses[done] if done < WRS else None


def deregister(device, rounds):
    """WRITE, READ and SEND, the key at either end."""
    rounds = int(rounds)
    of = End(device)
    memories = {name: Memory(SLOTS * LENGTH) for name in ("source", "target")}
    wanted = {(WRITE, "target"): "REM_ACCESS_ERR", (WRITE, "source"): "LOC_PROT_ERR",
              (READ, "source"): "REM_ACCESS_ERR", (READ, "target"): "LOC_PROT_ERR",
              (SEND, "target"): "REM_OP_ERR", (SEND, "source"): "LOC_PROT_ERR"}
    for (opcode, victim), status in wanted.items():
        between = 0
        for number in range(50):
            # More requests may be needed to end the key in the middle.
            if number >= rounds and between:
                break
            ends = connected(device, of=of)
            done, found = deregister_once(ends, memories, opcode, victim,
                                          number * 7 % 20 * 0.001)
            check(found in (None, status), found, "instead of", status)
            between += 0 < done < WRS
            close(*ends)
        check(between, "never in the middle")
        print(f"opcode {opcode}, {victim}: {between} times in the middle", flush=True)


def domains(device):
    """Keys of another PD, local and remote."""
    a, b = connected(device)
    other = PD(a.context)
    memory = Memory(PAGE)
    memory.fill(0x33)
    mine = MR(a.pd, PAGE, ACCESS_ALL, address=memory.address)
    foreign = MR(other, PAGE, ACCESS_ALL, address=memory.address)
    close(a, b)
    scratch = Memory(PAGE)
    smr = MR(a.pd, PAGE, ACCESS_ALL, address=scratch.address)
    for opcode in (WRITE, READ):
        for local, remote, status in ((smr, foreign, "REM_ACCESS_ERR"),
                                      (foreign, mine, "LOC_PROT_ERR")):
            c, d = connected(device, of=a)
            address = scratch.address if local is smr else memory.address
            c.qp.post_send(request(opcode, local, address, 64,
                                   remote=(memory.address, remote.rkey)))
            expect(c, status, opcode)
            close(c, d)
    c, d = connected(device, of=a)
    d.recv(foreign, memory.address, 64)
    c.send(smr, scratch.address, 64)
    expect(c, "REM_OP_ERR")
    expect(d, "LOC_PROT_ERR")
    check(memory.is_filled(0x33, 0, PAGE), "changed by a key of another domain")
    print("domains", flush=True)


# Large messages

class Pattern:
    """Contents of a message: one random MiB, repeated, with numbers."""

    def __init__(self, seed):
        self.block = bytearray(random.Random(seed).randbytes(MIB))

    def blocks(self, length):
        """(offset, bytes) of each block."""
        for offset in range(0, length, MIB):
            self.block[:8] = offset.to_bytes(8, "little")
            yield offset, bytes(self.block[:min(MIB, length - offset)])

    def put(self, memory, start, length):
        """Writes it."""
        for offset, data in self.blocks(length):
            memory.write(data, start + offset)

    def check(self, memory, start, length, text):
        """Compares all of it."""
        for offset, data in self.blocks(length):
            check(memory.equals(data, start + offset), text, "differs at", offset)


def large(device, length, server=None):
    """SEND, WRITE and READ of one message each, from client to server or back."""
    length, start = int(length), 100
    memory = Memory(length + 2 * PAGE)
    end = End(device)
    mr = MR(end.pd, memory.length, ACCESS_ALL, address=memory.address)
    peer = Peer(server)
    there = peer.swap(qpn=end.qp.qp_num, gid=end.gid, rkey=mr.rkey, address=memory.address)
    end.connect(there["qpn"], there["gid"])
    remote = (there["address"] + start, there["rkey"])
    for seed, (name, opcode) in enumerate((("SEND", SEND), ("WRITE", WRITE), ("READ", READ))):
        pattern = Pattern(seed)
        sender = bool(server) != (opcode == READ)
        if sender:
            pattern.put(memory, start, length)
        elif opcode == SEND:
            end.recv(mr, memory.address + start, length)
        peer.swap(ready=name)
        if server:
            began = time.monotonic()
            end.qp.post_send(request(opcode, mr, memory.address + start, length, remote=remote))
            expect(end, "SUCCESS", name)
            seconds = time.monotonic() - began
            print(f"{name} of {length}: {seconds:.3f} s", flush=True)
        elif opcode == SEND:
            _, status, byte_len = end.completions()[0]
            check((status, byte_len) == ("SUCCESS", length), status, byte_len)
        peer.swap(done=name)
        if not sender:
            pattern.check(memory, start, length, name)
            check(memory.is_filled(0, start + length, PAGE), "written beyond the end")
            print(f"{name} of {length}: contents checked", flush=True)
        peer.swap(checked=name)


def main():
    """Does what the command line says."""
    mode, *arguments = sys.argv[1:]
    {"sizes": sizes, "huge": huge, "gigantic": gigantic, "shared": shared, "wide": wide,
     "readonly": readonly, "again": again, "change": change, "zero": zero,
     "dmabuf": dmabuf, "deregister": deregister, "domains": domains,
     "large": large}[mode](*arguments)


if __name__ == "__main__":
    main()

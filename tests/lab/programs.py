# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Programs of others, and what each of them has moved.

Many end with status 0 though nothing was moved, so each is asked for a count, and where it
has none the counters of the device are.  tests/README.rst lists the programs.
"""

import contextlib
import re

# rping's greatest size, and more than it can have.
RPING_MAX = 65535


def counters(guest, device=None):
    """The counters of a guest's RDMA device, ours unless told, by name."""
    directory = f"/sys/class/infiniband/{device or guest.rdma_device()}/ports/1/hw_counters"
    # The kernel asks the device at most so often, in milliseconds.
    said = guest.run(f"cd {directory} && sleep $(cat lifespan)e-3 && grep -H . *",
                     check=False).stdout
    return {name: int(value) for name, value in re.findall(r"^(\w+):(\d+)$", said, re.MULTILINE)}


@contextlib.contextmanager
def traffic(guest, device=None, *, packets=0, size=0, received=0):
    """The body moves at least so many packets and bytes by RDMA, sent and received.

    received   so many packets come
    A program that used TCP fails, as does one whose requests fail.
    """
    before = counters(guest, device)
    yield
    after = counters(guest, device)
    moved = {name: after[name] - before[name] for name in after}
    assert moved["sent_pkts"] + moved["rcvd_pkts"] >= packets, moved
    assert moved["rcvd_pkts"] >= received, moved
    if size:
        assert moved["sent_bytes"] + moved["rcvd_bytes"] >= size, moved


@contextlib.contextmanager
def rping_server(guest, address=None):
    """Serves any number of clients of any size, as long as the body runs; yields its address.

    Without -S it has 64 bytes, and a client of more gets an error and ends with status 0.
    """
    address = address or guest.address
    server = guest.popen(["rping", "-s", "-P", "-a", address, "-S", str(RPING_MAX)])
    try:
        guest.wait_listening_cm()
        yield address
    finally:
        server.kill()
        server.wait(20)


def meet(guest, address):
    """The guest knows where an address is: a QP waits a second for that, and rdma_cm two."""
    guest.wait_until(f"ping -c 1 -W 5 {address}")


# Number and length of each message that came back.
_RPING = "set -o pipefail; rping -c -v -V -a {} -C {} -S {} | awk '/^ping data: / {{ print $3, length($0) }}'"


def rping_line(address, count, size=64):
    """For bash: prints a line for each message that came back, with its contents compared."""
    return _RPING.format(address, count, size)


def rping(guest, address, count, size=64, *, timeout=60):
    """So many messages go to a server, by RDMA READ, and come back, by RDMA WRITE."""
    meet(guest, address)
    result = guest.run(rping_line(address, count, size), timeout=timeout)
    # The last byte ends the text.
    wanted = "".join(f"rdma-ping-{number}: {len('ping data: ') + size - 1}\n"
                     for number in range(count))
    assert result.stdout == wanted, f"{result.stdout.count('rdma-ping')} of {count} came\n{result}"


def cm_program(program, server, client, *, connections, messages, size, measured=None, timeout=60):
    """ucmatose or udaddy: messages on many connections, there and back.

    They look at no status of a completion and compare nothing, so the bytes are counted, in
    the guest measured, which has our device.
    """
    arguments = ["-c", str(connections), "-C", str(messages), "-S", str(size)]
    serving = server.popen([program, "-b", server.address, *arguments])
    server.wait_listening_cm()
    meet(client, server.address)
    with traffic(measured or client, size=2 * connections * messages * size):
        results = [client.run([program, "-s", server.address, *arguments], timeout=timeout),
                   serving.wait(timeout, check=True)]
    for result in results:
        assert "return status 0" in result.stdout, str(result)

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The ping-pongs of libibverbs between two guests."""

import ipaddress
import re
import time

from . import paths
from .guest import CommandTimeout
from .patience import Deadline

_RESULT = re.compile(r"(\d+) iters in [\d.]+ seconds = ([\d.]+) usec/iter")

# One TCP port for each ping-pong that runs at a time.
PORT = 18515


def gid_text(address):
    """The GID of an IPv4 or IPv6 address as sysfs shows it."""
    mapped = address if ":" in address else f"::ffff:{address}"
    return ipaddress.IPv6Address(mapped).exploded


def gid_index(guest, device, address=None):
    """Where the GID of an address is now; by default, of the guest's IPv4 address.

    It is looked up each time, because an earlier test may have moved it.
    """
    gid = gid_text(address or guest.address)
    listing = f"grep -ls {gid} /sys/class/infiniband/{device}/ports/1/gids/*"
    found = guest.run(listing, check=False).stdout.split()
    if not found:
        guest.wait_until(listing)
        found = guest.run(listing).stdout.split()
    return found[0].rsplit("/", 1)[1]


def _preloaded(guest, *names):
    """The environment of a program with these libraries of ours (tests/guest)."""
    return {"LD_PRELOAD": ":".join(guest.put(paths.program(f"{name}.so")) for name in names)}


class PingPong:
    """One run, started by its constructor: the server, then the client.

    program    rc, uc or ud
    devices    names of server's and client's RDMA device; ours if not given
    addresses  of server and client, whose GIDs are used; IPv4 if not given
    gently     a message every few milliseconds, which leaves the processors to what it runs
               beside; by events only
    arguments go to both ends.
    """

    def __init__(self, server, client, *, program="rc", size=4096, iterations=1000,
                 events=False, validate=False, port=PORT, devices=(None, None),
                 addresses=(None, None), gently=False, arguments=(), prefix=()):
        def command(guest, end):
            name = devices[end] or guest.rdma_device()
            return [f"ibv_{program}_pingpong", "-d", name,
                    "-g", gid_index(guest, name, addresses[end]), "-s", str(size),
                    "-n", str(iterations), "-p", str(port),
                    *(["-e"] if events else []), *(["-c"] if validate else []),
                    *map(str, arguments)]

        def environment(guest, end):
            # Packets of Soft-RoCE come when its guest gets time, and the other end gives up.
            names = ["outlast"] if any((name or "").startswith("rxe") for name in devices) else []
            if gently and end:
                names.append("gently")
            return _preloaded(guest, *names) if names else None

        self.iterations = iterations
        self.events = events
        self._client_guest = client
        self.server = server.popen(command(server, 0), env=environment(server, 0))
        try:
            server.wait_listening(port)
        except CommandTimeout as error:
            # Has it ended, or where does it wait?
            where = server.run(f"cat /proc/{self.server.pid}/stack", check=False).stdout
            raise AssertionError(f"the server does not listen: status {self.server.poll()},"
                                 f" {self.server.stdout}{self.server.stderr}{where}") from error
        self.client = client.popen([*prefix, *command(client, 1), server.address],
                                   env=environment(client, 1))

    def wait(self, timeout=120):
        """Waits for both ends and returns the client's microseconds per iteration."""
        results = [end.wait(timeout, check=True) for end in (self.client, self.server)]
        for result in results:
            assert "invalid data" not in result.stdout, str(result)
            match = _RESULT.search(result.stdout)
            assert match and int(match[1]) == self.iterations, str(result)
        return float(_RESULT.search(results[0].stdout)[2])

    def wait_connected(self):
        """Waits until the client, which is second, has its QP in RTS; the run must be endless."""
        qp = f"rdma resource show qp | grep -w 'pid {self.client.pid}' | grep -q 'state RTS'"
        self._client_guest.wait_until(qp, timeout=30)

    def _steps(self):
        """How often the client has gone to sleep; for that it must wait for events."""
        status = f"/proc/{self.client.pid}/status"
        said = self._client_guest.run(f"grep ^voluntary_ctxt_switches {status}", check=False)
        assert said.rc == 0, f"the ping-pong has ended: {self.client.stdout}{self.client.stderr}"
        return int(said.stdout.split()[1])

    def assert_moves(self, messages=50, timeout=30):
        """So many more messages come, and both ends still run.

        That a program runs does not say that it does anything: it may wait for ever.
        Contents are compared at the end of a run only, so not here.
        """
        assert self.events, "a program that polls does not tell how far it is"
        wanted = self._steps() + messages
        deadline = Deadline(timeout)
        while self._steps() < wanted:
            assert not deadline.over(), "the ping-pong stands still"
            time.sleep(0.1)
        for end in (self.client, self.server):
            assert end.poll() is None, f"{end.stdout}{end.stderr}"

    def kill(self):
        """Ends both with SIGKILL."""
        for end in (self.client, self.server):
            end.kill()
            end.wait(20)


def pingpong(server, client, **arguments):
    """A run from start to end; microseconds per iteration."""
    timeout = arguments.pop("timeout", 120)
    return PingPong(server, client, **arguments).wait(timeout)

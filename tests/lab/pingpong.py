# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""ibv_rc_pingpong between two guests."""

import re

_RESULT = re.compile(r"(\d+) iters in [\d.]+ seconds = ([\d.]+) usec/iter")

# One TCP port for each ping-pong that runs at a time.
PORT = 18515


def gid_index(guest, device):
    """Where the GID of the guest's IPv4 address is; 1 until an address changes."""
    gid = "0000:0000:0000:0000:0000:ffff:" + "{:02x}{:02x}:{:02x}{:02x}".format(
        *map(int, guest.address.split(".")))
    found = guest.run("for i in $(seq 50); do"
                      f" grep -l {gid} /sys/class/infiniband/{device}/ports/1/gids/* && exit;"
                      " sleep 0.1; done 2> /dev/null; exit 1").stdout
    return found.split()[0].rsplit("/", 1)[1]


class PingPong:
    """One run, started by its constructor: the server, then the client.

    arguments go to both ends.
    """

    def __init__(self, server, client, *, size=4096, iterations=1000, events=False,
                 validate=False, port=PORT, device=None, arguments=(), prefix=()):
        def command(guest):
            name = device or guest.rdma_device()
            return ["ibv_rc_pingpong", "-d", name, "-g", gid_index(guest, name), "-s", str(size),
                    "-n", str(iterations), "-p", str(port),
                    *(["-e"] if events else []), *(["-c"] if validate else []),
                    *map(str, arguments)]

        self.iterations = iterations
        self.server = server.popen(command(server))
        # The client does not try twice.
        server.run(f"for i in $(seq 200); do ss -ltn | grep -q :{port} && exit; sleep 0.05;"
                   " done; exit 1", check=False)
        self.client = client.popen([*prefix, *command(client), server.address])

    def wait(self, timeout=120):
        """Waits for both ends and returns the client's microseconds per iteration."""
        results = [end.wait(timeout, check=True) for end in (self.client, self.server)]
        for result in results:
            assert "invalid data" not in result.stdout, str(result)
            match = _RESULT.search(result.stdout)
            assert match and int(match[1]) == self.iterations, str(result)
        return float(_RESULT.search(results[0].stdout)[2])

    def kill(self):
        """Ends both with SIGKILL."""
        for end in (self.client, self.server):
            end.kill()
            end.wait(20)


def pingpong(server, client, **arguments):
    """A run from start to end; microseconds per iteration."""
    timeout = arguments.pop("timeout", 120)
    return PingPong(server, client, **arguments).wait(timeout)

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two guests that have the programs of scripts/trees/apps.list."""

import contextlib
import shlex

from . import paths
from .pair import Pair


class Apps:
    """The guests, with our modules loaded and what the programs need besides.

    Guest a reaches guest b by ssh, without a question: that is how mpirun starts
    ranks.  Each knows the other's name.
    """

    def __init__(self):
        self.pair = Pair("apps", disk="apps")
        self.a = self.b = None

    def start(self):
        """Boots them."""
        self.pair.start()
        self.a, self.b = self.pair.guests
        self.pair.load_modules()
        names = "".join(f"{guest.address} {guest.name}\n" for guest in self.pair.guests)
        for guest in self.pair.guests:
            guest.run("cat >> /etc/hosts", stdin=names)
        self.a.run("mkdir -p -m 700 .ssh && ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519 &&"
                   " echo 'StrictHostKeyChecking accept-new' > .ssh/config")
        key = self.a.run("cat .ssh/id_ed25519.pub").stdout
        self.b.run("mkdir -p -m 700 .ssh && cat > .ssh/authorized_keys &&"
                   " mkdir -p /run/sshd && /usr/sbin/sshd", stdin=key)
        self.device = self.a.rdma_device()
        self.interface = self.a.interface()
        return self

    def install(self, program):
        """Copies a program of ours into both guests; returns its path there."""
        for guest in self.pair.guests:
            shared = guest.put(paths.BUILD / "programs" / program)
            guest.run(["install", shared, f"/usr/local/bin/{program}"])
        return f"/usr/local/bin/{program}"

    def both(self, server, client, *, listens=None, timeout=60):
        """Runs a server in guest b until a client in guest a has ended well.

        listens   TCP port of the server, for which the client waits; without, it
                  is one of the connection manager's
        Both are lines for bash.  Returns what the client wrote.
        """
        serving = self.b.popen(server)
        try:
            if listens:
                self.b.wait_listening(listens)
            else:
                self.b.wait_listening_cm()
            result = self.a.run(client, timeout=timeout, check=False)
            assert result.rc == 0, f"{result}\nserver:\n{serving.stdout}{serving.stderr}"
            return result.stdout + result.stderr
        finally:
            serving.kill()
            serving.wait(20)

    @contextlib.contextmanager
    def traffic(self, packets=0, size=0):
        """What runs inside moves so many packets, and so many bytes, by RDMA at least.

        Counted in guest a, sent and received.  A program that took TCP is found out so.
        """
        def moved(unit):
            counters = self.pair.daemon.stats()[self.pair.daemon.sockets[0].name]
            return counters[f"sent_{unit}"] + counters[f"rcvd_{unit}"]

        before = moved("pkts"), moved("bytes")
        yield
        assert moved("pkts") - before[0] >= packets
        assert moved("bytes") - before[1] >= size

    def stop(self):
        """Ends them."""
        self.pair.stop()


def on_terminal(command):
    """The same line for bash, with a terminal as its standard input and output.

    ucx_perftest behaves as an MPI program without.
    """
    return f"script -qec {shlex.quote(command)} /dev/null"

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Two guests that have the programs of scripts/images/trees/apps.list."""

import contextlib
import shlex

from . import paths, programs
from .pair import Pair

# Disks of the daemon's own: files of so many bytes, one for a target in guest a; and one that
# keeps nothing.
TARGET_NQN = "nqn.2026-11.org.example:apps"
TARGET_ADDRESS = "10.77.0.100"
TARGET_SIZE = 256 << 20


class Apps:
    """The guests, with our modules loaded and with what the programs need.

    Guest a reaches guest b by ssh without a password: that is how mpirun starts
    ranks.  Each guest knows the other's name.  The daemon has a keeper.
    """

    def __init__(self):
        directory = paths.run_directory("apps-target")
        self.target_disk, self.offload_disk = directory / "disk", directory / "offload"
        for disk in self.target_disk, self.offload_disk:
            with open(disk, "wb") as file:
                file.truncate(TARGET_SIZE)
        self.pair = Pair("apps", disk="apps", daemon_arguments=(
            "--keeper", "--namespace", f"disk=file:{self.target_disk}",
            "--namespace", "nothing=null:1G,guest=apps-daemon.1",
            "--namespace", f"offload=file:{self.offload_disk},guest=apps-daemon.1",
            "--nvmf-target", f"nqn={TARGET_NQN},address={TARGET_ADDRESS},"
                             "namespace=disk,namespace=nothing"))
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
        """Runs a server in guest b until a client in guest a has ended with success.

        listens   TCP port of the server that the client waits for; without, the
                  server listens by the RDMA connection manager
        Both are lines for bash.  Returns the client's output.
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
        """The body must move at least this many packets and bytes by RDMA, by guest a's counters."""
        with programs.traffic(self.a, packets=packets, size=size):
            yield

    def same_data(self):
        """Both guests have the same in /tmp/data; removes it."""
        found = [guest.run("sha256sum /tmp/data && rm /tmp/data").stdout
                 for guest in self.pair.guests]
        assert found[0] == found[1], found

    def stop(self):
        """Ends them."""
        self.pair.stop()


def on_terminal(command):
    """The same line for bash, with a terminal as its standard input and output.

    Without a terminal ucx_perftest takes itself for an MPI program.
    """
    return f"script -qec {shlex.quote(command)} /dev/null"

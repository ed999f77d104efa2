# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A guest that moves: from one QEMU, and the daemon behind it, to another.

The QEMU is a patched one (scripts/build/qemu-migration.sh).  It takes half an hour to build,
so that only "make soak" does it on its way.
"""

import contextlib
import functools
import json
import os
import pathlib
import socket
import subprocess
import time

from . import frozen, machine, paths
from .devices import roce_device
from .guest import BOOT_TIMEOUT, Guest, GuestError
from .patience import Deadline
from .qmp import Qmp, QmpError

# Milliseconds that a guest may stand still while the rest of its memory is copied.
DOWNTIME_MS = 300
BANDWIDTH = 4 << 30

# The target tells the source whether it could load all, before the source lets go.
CAPABILITIES = ("return-path",)

# Where put() mounts the share.
SHARE = "/run/share"

NOT_BUILT = "the patched QEMU is not built (make qemu-migration)"


@functools.cache
def patched_qemu():
    """The directory of the patched QEMU, None if it is not built."""
    if paths.LONG:
        return pathlib.Path(paths.script("build/qemu-migration.sh")[0])
    link = paths.BUILD / "qemu-migration"
    return link.resolve() if link.exists() else None


def _hole(file, start, end):
    """Nothing is there."""
    try:
        return os.lseek(file, start, os.SEEK_DATA) >= end
    except OSError:  # ENXIO: nor behind it
        return True


class Refused(GuestError):
    """A migration failed; the guest is where it was."""


class There:
    """A QEMU that waits for a guest, and its sockets."""

    def __init__(self, process, memory, console_log, qmp_socket, agent_socket):
        self.process = process
        self.memory = memory
        self.console_log = console_log
        self.qmp_socket = qmp_socket
        self.agent_socket = agent_socket
        self.qmp = None
        self.agent = None

    def connect(self):
        """Waits for its sockets; raises Refused if it ends instead."""
        deadline = Deadline(30)
        while not self.qmp:
            try:
                self.qmp = Qmp(self.qmp_socket)
            except (ConnectionRefusedError, FileNotFoundError) as error:
                if self.process.poll() is not None or deadline.over():
                    raise Refused("the QEMU of the target has ended") from error
                time.sleep(0.05)
        self.agent = socket.socket(socket.AF_UNIX)
        self.agent.connect(str(self.agent_socket))

    def loaded(self):
        """Waits until it has all of the guest; false if it could not load it."""
        with contextlib.suppress(QmpError, ConnectionError):
            while self.qmp.command("query-status")["status"] in ("inmigrate", "finish-migrate"):
                time.sleep(0.01)
            return True
        return False

    def end(self):
        """Ends it."""
        self.process.kill()
        self.process.wait()
        self.memory.close()


class MovingGuest(Guest):
    """A guest that can be moved.  It boots, since the other QEMU cannot read what ours writes.

    QEMU moves no guest that has a share mounted, so this one has it only while put() reads it.
    """

    def __init__(self, name, number, device, **guest):
        super().__init__(name, number, [device], boot=True, **guest)
        self._next_agent = None
        self._moves = 0
        self.status = {}

    # Where it is

    def image(self):
        """The same files, with a disk of its own, which both QEMUs open."""
        kernel, disk, initrd = super().image()
        own = self.directory / "disk.img"
        if not own.exists():
            subprocess.run(["cp", "--sparse=always", "--reflink=auto", disk, own], check=True)
        return kernel, own, initrd

    def qemu(self):
        """How QEMU is started: the patched one."""
        return [str(paths.TOP / "scripts" / "images" / "qemu-migration"), str(patched_qemu())]

    def _arguments(self, disk, descriptor):
        """The guest writes to the disk itself, and its memory is sent."""
        arguments = super()._arguments(disk, descriptor)
        at = arguments.index("migration.x-ignore-shared=on")
        del arguments[at - 1:at + 1]
        return [word.replace(",snapshot=on", ",snapshot=off") for word in arguments]

    def put(self, source, name=None):
        """Copies a file into the guest, not into the share."""
        name = os.path.basename(super().put(source, name))
        # A test may have mounted something else on /mnt.
        self.run(f"mkdir -p {SHARE} &&"
                 f" mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 share {SHARE} &&"
                 f" cp --remove-destination {SHARE}/{name} /root && umount {SHARE}")
        return f"/root/{name}"

    def wait_ready(self, timeout=BOOT_TIMEOUT):
        """Waits until commands can be run, and takes the share away."""
        super().wait_ready(timeout)
        self.run("umount /mnt/share")
        return self

    def _agent_lines(self):
        """The agent's lines, some of which come by half from one QEMU and by half from another."""
        text = b""
        while True:
            data = self.agent.recv(1 << 16)
            if not data:
                if not self._next_agent:
                    return
                self.agent, self._next_agent = self._next_agent, None
                continue
            *lines, text = (text + data).split(b"\n")
            yield from lines

    def save(self, state, disk):
        """Writes the guest into two files, and goes on."""
        self.qmp("migrate-set-capabilities", capabilities=[
            {"capability": name, "state": False} for name in CAPABILITIES])
        self.qmp("migrate-set-parameters", **{"max-bandwidth": BANDWIDTH,
                                              "downtime-limit": DOWNTIME_MS})
        self.qmp("migrate", uri=f"file:{state}")
        assert self._sent(), f"{self.status}\n{self.qemu_log()}"
        subprocess.run(["cp", "--sparse=always", "--reflink=auto", self.directory / "disk.img",
                        disk], check=True)
        self.qmp("cont")

    # Moving

    def _begin(self, device, paused):
        """Starts the QEMU that the guest is to go to."""
        self._moves += 1
        kernel, disk, initrd = self.image()
        here = (self.console_log, self.qmp_socket, self.agent_socket)
        sockets = paths.socket_directory()
        there = (self.directory / f"console.{self._moves}.log",
                 sockets / f"{self.name}.{self._moves}.qmp",
                 sockets / f"{self.name}.{self._moves}.agent")
        memory = frozen.create(self.memory)
        self.console_log, self.qmp_socket, self.agent_socket = there
        arguments = [*self._arguments(disk, memory), *device,
                     *machine.kernel_arguments(kernel, initrd, [f"lab.name={self.name}"]),
                     "-incoming", "defer", *(["-S"] if paused else [])]
        self.console_log, self.qmp_socket, self.agent_socket = here
        with open(self.directory / "qemu.log", "ab") as log:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self.qemu(), *arguments],
                process_group=0, pass_fds=[memory], stdin=subprocess.DEVNULL,
                stdout=log, stderr=subprocess.STDOUT)
        return There(process, os.fdopen(memory, "rb", 0), *there)

    def qemu_log(self):
        """The text that both QEMUs have written."""
        return (self.directory / "qemu.log").read_text(errors="replace")

    def _migrate(self, there):
        """Sends the guest; false if that fails."""
        path = paths.socket_directory() / f"{self.name}.migration"
        path.unlink(missing_ok=True)
        self.qmp("query-status")
        for qmp in (there.qmp, self._qmp):
            qmp.command("migrate-set-capabilities", capabilities=[
                {"capability": name, "state": True} for name in CAPABILITIES])
            qmp.command("migrate-set-parameters", **{"max-bandwidth": BANDWIDTH,
                                                     "downtime-limit": DOWNTIME_MS})
        there.qmp.command("migrate-incoming", uri=f"unix:{path}")
        self.qmp("migrate", uri=f"unix:{path}")
        return self._sent()

    def _sent(self):
        """Waits for the end; false if it failed."""
        deadline = Deadline(120)
        while True:
            self.status = self.qmp("query-migrate")
            if self.status["status"] in ("completed", "failed", "cancelled"):
                return self.status["status"] == "completed"
            if deadline.over():
                raise GuestError(f"{self.name}: {self.status}\n{self.qemu_log()}")
            time.sleep(0.02)

    def move(self, to, compare=False, **device):
        """Moves the guest to a QEMU whose device is at the socket; raises Refused.

        compare    before it goes on there, its memory is compared with that which it had
        Returns what QEMU says: with the milliseconds that it stood still, "downtime".
        """
        there = self._begin(roce_device(to, **device), compare)
        try:
            there.connect()
            if not self._migrate(there) or not there.loaded():
                raise Refused(f"{self.status.get('error-desc')}\n{self.qemu_log()}")
        except (GuestError, QmpError, OSError) as error:
            there.end()
            self._stays()
            raise error if isinstance(error, GuestError) else Refused(str(error)) from error
        different = self._different(there) if compare else []
        if compare:
            there.qmp.command("cont")
        self._arrived(there)
        assert not different, f"pages that differ: {different[:20]}"
        return self.status

    def _stays(self):
        """A move came to nothing: QEMU goes on with the guest by itself."""
        deadline = Deadline(30)
        while self.qmp("query-status")["status"] != "running":
            if deadline.over():
                raise GuestError(f"{self.name}: {self.qmp('query-status')}\n{self.qemu_log()}")
            time.sleep(0.02)

    def _different(self, there):
        """The pages whose contents there are not those here; both stand still."""
        files = [self.memory_file.fileno(), there.memory.fileno()]
        size = os.fstat(files[0]).st_size
        found = []
        for at in range(0, size, 1 << 20):
            # Most of the memory was never written: reading that takes time.
            if all(_hole(file, at, at + (1 << 20)) for file in files):
                continue
            one, other = (os.pread(file, 1 << 20, at) for file in files)
            if one != other:
                found += [hex(at + page) for page in range(0, 1 << 20, 4096)
                          if one[page:page + 4096] != other[page:page + 4096]]
        return found

    def _arrived(self, there):
        before, self.process = self.process, there.process
        self._next_agent = there.agent
        self._qmp.command("quit")
        self._qmp.close()
        before.wait()
        self.memory_file.close()
        self._qmp, self.memory_file = there.qmp, there.memory
        self.console_log = there.console_log
        self.qmp_socket, self.agent_socket = there.qmp_socket, there.agent_socket
        while self._next_agent:
            time.sleep(0.01)
        self.forget()

    def _gone(self):
        super()._gone()
        (self.directory / "disk.img").unlink(missing_ok=True)


class Copy(MovingGuest):
    """A guest that begins with what another one is in the middle of."""

    def __init__(self, original, state, device):
        super().__init__(f"{original.name}-copy", original.number, device, disk=original.disk)
        self._original = original
        self._state = state

    def image(self):
        """The other one's files, with a copy of its disk."""
        kernel, _, initrd = self._original.image()
        own = self.directory / "disk.img"
        self._original.save(self._state, own)
        return kernel, own, initrd

    def _arguments(self, disk, descriptor):
        return [*super()._arguments(disk, descriptor), "-incoming", f"file:{self._state}"]

    def _agent_lines(self):
        """The first one may have begun in the other guest."""
        self._ready.set()
        for line in super()._agent_lines():
            with contextlib.suppress(ValueError):
                json.loads(line)
                yield line

    def wait_ready(self, timeout=BOOT_TIMEOUT):
        """Waits until it runs."""
        Guest.wait_ready(self, timeout)
        deadline = Deadline(timeout)
        while self.qmp("query-status")["status"] != "running":
            assert not deadline.over(), self.qemu_log()
            time.sleep(0.05)
        return self

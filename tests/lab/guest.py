# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A guest: a QEMU process with Debian 13 in it, and commands run there.

Guests run without KVM (lab/machine.py).  The disk is the cached image opened as a
snapshot: every guest starts from the same state and leaves none.  Only one guest of a
kind boots: it is frozen before it has any device of a test.  The others go on from
there, find their devices and get a name of their own (scripts/images/guest/thaw).
"""

import dataclasses
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time

from . import frozen, kernellog, machine, paths, registry
from .devices import Plugged, stream_device
from .patience import PATIENCE, Deadline
from .qmp import Qmp, QmpError

BOOT_TIMEOUT = 120

# A guest that hangs never ends, so on a busy machine it gets plenty of time.
POWER_OFF_TIMEOUT = 60

# kmemleak reports what two scans find lost, and nothing younger than 5 s.  lockdep
# turns itself off when it has reported something or has run out of space.
LAST_LOOK = """
sleep 5.5
echo scan > /sys/kernel/debug/kmemleak
echo scan > /sys/kernel/debug/kmemleak
cat /sys/kernel/debug/kmemleak
grep -q 'debug_locks: *1' /proc/lockdep_stats || echo 'LOCKDEP_ENDED'
""".replace("LOCKDEP_ENDED", kernellog.LOCKDEP_ENDED)


class GuestError(Exception):
    """A guest does not do what it should."""


class CommandTimeout(GuestError):
    """A command took too long and was killed."""


@dataclasses.dataclass
class Result:
    """How a command ended; rc is negative for a signal."""

    command: object
    rc: int
    stdout: str
    stderr: str

    def __str__(self):
        return f"{self.command!r}: rc {self.rc}\n{self.stdout}{self.stderr}"


class Command:
    """A command that runs in a guest."""

    def __init__(self, guest, ident, command):
        self.guest = guest
        self.ident = ident
        self.command = command
        self._pid = None
        self.rc = None
        self.output = {"out": "", "err": ""}
        self._started = threading.Event()
        self.done = threading.Event()

    @property
    def pid(self):
        """Its process in the guest; waits until there is one."""
        if not Deadline(20).wait(self._started):
            raise GuestError(f"{self.guest.name}: {self.command!r} did not start")
        return self._pid

    @property
    def stdout(self):
        """Standard output so far."""
        return self.output["out"]

    @property
    def stderr(self):
        """Standard error so far."""
        return self.output["err"]

    def on_message(self, message):
        """Called by the guest's reader."""
        for key in self.output:
            self.output[key] += message.get(key, "")
        if "pid" in message:
            self._pid = message["pid"]
            self._started.set()
        if "exit" in message:
            self.rc = message["exit"]
            self.done.set()

    def kill(self, number=signal.SIGKILL):
        """Sends a signal to the command and all that it started."""
        self.guest.send(id=self.ident, kill=int(number))

    def poll(self):
        """The exit status, None while it runs."""
        return self.rc if self.done.is_set() else None

    def wait(self, timeout=60, check=False):
        """Waits for the end.  At the timeout kills the command and raises."""
        if not Deadline(timeout).wait(self.done):
            self.kill()
            self.done.wait(10)
            raise CommandTimeout(
                f"{self.guest.name}: no end within {timeout} s: {self.command!r}\n"
                f"{self.stdout}{self.stderr}")
        if self.rc is None:
            raise GuestError(f"{self.guest.name} died during {self.command!r}\n"
                             + self.guest.console_tail())
        result = Result(self.command, self.rc, self.stdout, self.stderr)
        if check and result.rc != 0:
            raise GuestError(f"{self.guest.name}: {result}")
        return result

    def wait_output(self, pattern, timeout=60):
        """Waits until standard output matches, and returns the match."""
        deadline = Deadline(timeout)
        while True:
            ended = self.done.is_set()
            match = re.search(pattern, self.stdout, re.MULTILINE)
            if match:
                return match
            if ended or deadline.over():
                raise GuestError(f"{self.guest.name}: {self.command!r} did not say {pattern!r}:\n"
                                 f"{self.stdout}{self.stderr}")
            time.sleep(0.02)


class Guest:
    """One guest.  start() begins booting, wait_ready() ends it.

    number    tells guests apart: its addresses are 10.77.0.<number>
    devices   lists of QEMU arguments, see devices.py
    append    more for the kernel command line
    install   with our modules and provider; else a stock Debian
    fds       descriptors that the arguments refer to; QEMU inherits them
    shell     with a shell on the socket self.shell_socket
    disk      "guest", or "apps" for the one with applications
    boot      it boots, as one with append, shell or processors does
    processors  how many virtual CPUs it has, if not those of lab/machine.py
    """

    def __init__(self, name, number, devices=(), *, memory=machine.MEMORY, append="",
                 install=True, fds=(), shell=False, disk="guest", boot=False,
                 processors=None):
        self.name = name
        self.number = number
        self.address = f"10.77.0.{number}"
        self.devices = devices
        self.memory = memory
        self.append = append
        self.install = install
        self.fds = fds
        self.shell = shell
        self.disk = disk
        self.processors = processors
        self.boots = bool(boot or append or shell or processors)
        self.process = None
        self.memory_file = None
        self.agent = None
        self._qmp = None
        self._ready = threading.Event()
        self._commands = {}
        self._lock = threading.Lock()
        self._kernel_log = []
        self._kernel_lines_judged = 0
        self._found = {}
        self._known_reports = [*kernellog.OVERLAPS, kernellog.NVMET_CONFIG]
        self._last_look = None

    # Start and end

    def image(self):
        """The files that it boots: kernel, disk, initramfs."""
        return paths.guest_image(self.disk)

    def install_archive(self):
        """The archive that is unpacked in it: our modules and provider."""
        return paths.guest_files()

    def start(self):
        """Starts QEMU.  The thread that calls this must outlive QEMU, which dies with it."""
        self.directory = paths.run_directory(self.name)
        kernel, disk, initrd = self.image()
        self.share = self.directory / "share"
        self.share.mkdir()
        self.console_log = self.directory / "console.log"
        if self.install:
            shutil.copy(self.install_archive(), self.share / "install.tar")

        sockets = paths.socket_directory()
        self.agent_socket = sockets / f"{self.name}.agent"
        self.qmp_socket = sockets / f"{self.name}.qmp"
        self.shell_socket = sockets / f"{self.name}.shell"
        for path in (self.agent_socket, self.qmp_socket, self.shell_socket):
            path.unlink(missing_ok=True)

        if self.boots:
            descriptor = frozen.create(self.memory)
        else:
            snapshot = paths.guest_snapshot(self.disk, self.memory)
            descriptor = frozen.restore(snapshot / "memory")
        append = [f"lab.name={self.name}", self.append]
        arguments = self._arguments(disk, descriptor)
        if self.shell:
            append.append("lab.shell")
            arguments += ["-serial", f"unix:{self.shell_socket},server=on,wait=off"]
        for device in self.devices:
            if self.boots or not isinstance(device, Plugged):
                arguments += device
        arguments += machine.kernel_arguments(kernel, initrd, append)
        if not self.boots:
            # In the place of all that the kernel would do.
            arguments += ["-incoming", f"file:{snapshot / 'state'}"]

        # QEMU needs about four descriptors for each queue.
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.memory_file = os.fdopen(descriptor, "rb", 0)
        self._launch([*self.qemu(), *arguments], [descriptor, *self.fds])
        return self

    def qemu(self):
        """How QEMU is started."""
        return [str(paths.TOP / "scripts" / "images" / "qemu")]

    def _arguments(self, disk, descriptor):
        """QEMU arguments of the machine and of the sockets to it."""
        return [
            *machine.arguments(disk, self.memory, descriptor, self.share,
                               self.processors and str(self.processors)),
            "-serial", f"file:{self.console_log}",
            "-qmp", f"unix:{self.qmp_socket},server=on,wait=off",
            "-chardev", f"socket,id=agent,path={self.agent_socket},server=on,wait=off",
        ]

    def _launch(self, command, fds=()):
        """Starts what is or runs QEMU, and listens to the agent."""
        with open(self.directory / "qemu.log", "wb") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command],
                # Ctrl-C is for this process, which then stops QEMU.  Not a session of its own:
                # the kernel shares processors out by session (autogroup), and a thread that
                # could run was seen to wait for 4 s then.
                process_group=0, pass_fds=fds,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        registry.add(self)
        self._kernel_log, self._kernel_lines_judged = [], 0
        self.forget()
        self._ready.clear()
        threading.Thread(target=self._read_agent, daemon=True).start()

    def wait_ready(self, timeout=BOOT_TIMEOUT):
        """Waits until commands can be run."""
        if not Deadline(timeout).wait(self._ready) or not self.alive():
            log = (self.directory / "qemu.log").read_text()
            raise GuestError(f"{self.name} did not boot\n{log}{self.console_tail()}")
        return self

    def alive(self):
        """QEMU runs and the agent is connected."""
        return self.process is not None and self.process.poll() is None \
            and self.agent is not None

    def stop(self):
        """Powers the guest off, after a last look at the log of a debug kernel."""
        if self.process is None:
            return
        try:
            self._end_last_look()
        finally:
            self._power_off()

    def begin_last_look(self):
        """The first step of stop(), which several guests can do at the same time."""
        if paths.DEBUG and self.alive():
            self._last_look = self.popen(LAST_LOOK)

    def _end_last_look(self):
        if self._last_look is None:
            self.begin_last_look()
        look, self._last_look = self._last_look, None
        if look:
            lines = look.wait(120).stdout.splitlines()
            # First what kmemleak has found: the log only says how many.
            self._judge(kernellog.reports(lines))
            self.assert_kernel_clean()

    def _power_off(self):
        """Powers the guest off.  Kills QEMU if that does not work, and fails the test."""
        try:
            self.send(poweroff=True)
            self.process.wait(POWER_OFF_TIMEOUT * PATIENCE)
        except (GuestError, OSError, subprocess.TimeoutExpired) as error:
            tail = self.console_tail()
            self.kill()
            raise AssertionError(
                f"{self.name} did not power off and was killed: {error}\n{tail}") from error
        self._gone()

    def kill(self):
        """Ends QEMU at once."""
        self.process.kill()
        self.process.wait()
        self._gone()

    def _gone(self):
        registry.remove(self)
        self.process = None
        if self.memory_file:
            self.memory_file.close()
        self._qmp = None

    def _plug_devices(self):
        """Plugs devices that could not be there while QEMU read the guest's state."""
        # QEMU makes its sockets one after another.
        qmp = None
        while not qmp:
            try:
                qmp = Qmp(self.qmp_socket)
            except (ConnectionRefusedError, FileNotFoundError):
                if self.process is None or self.process.poll() is not None:
                    raise
                time.sleep(0.05)
        while qmp.command("query-status")["status"] != "running":
            time.sleep(0.02)
        for device in self.devices:
            if isinstance(device, Plugged):
                for line in device.commands("port0"):
                    said = qmp.command("human-monitor-command", **{"command-line": line})
                    if said:
                        raise GuestError(f"{self.name}: {line}: {said}")
        qmp.close()

    # The agent

    def _connect(self):
        """The agent's socket, or None if QEMU ended before it was there."""
        while self.process and self.process.poll() is None:
            agent = socket.socket(socket.AF_UNIX)
            try:
                agent.connect(str(self.agent_socket))
                return agent
            except OSError:
                agent.close()
                time.sleep(0.05)
        return None

    def _read_agent(self):
        agent = self._connect()
        if agent:
            self.agent = agent
            try:
                if not self.boots:
                    self._plug_devices()
                    self.send(thaw=self.name, time=time.time(), seed=os.urandom(64).hex())
                for line in self._agent_lines():
                    self._on_message(json.loads(line))
            except (OSError, ValueError, GuestError, QmpError) as error:
                # QEMU may have died in the middle of a line.
                with open(self.directory / "qemu.log", "a", encoding="utf-8") as log:
                    print(repr(error), file=log)
        self.agent = None
        self._ready.set()
        with self._lock:
            commands, self._commands = self._commands, {}
        for command in commands.values():
            command.done.set()

    def _agent_lines(self):
        """The lines that the agent sends, to the end."""
        with self.agent.makefile("r", encoding="utf-8") as lines:
            yield from lines

    def _on_message(self, message):
        if "ready" in message:
            self._ready.set()
            return
        with self._lock:
            command = self._commands.get(message["id"])
            if command and "exit" in message:
                del self._commands[message["id"]]
        if command:
            command.on_message(message)

    def send(self, **message):
        """Sends one message to the agent."""
        agent = self.agent
        if agent is None:
            raise GuestError(f"{self.name} is not there\n{self.console_tail()}")
        with self._lock:
            agent.sendall(json.dumps(message).encode() + b"\n")

    # Commands

    _next_ident = iter(range(1, 1 << 62))

    def popen(self, command, *, env=None, stdin=""):
        """Starts a command: a list of arguments, or a line for bash."""
        argv = ["bash", "-c", command] if isinstance(command, str) else \
            [os.fspath(word) for word in command]
        return self._request(command, run=argv, env=env or {}, stdin=stdin)

    def _request(self, command, **message):
        started = Command(self, next(self._next_ident), command)
        with self._lock:
            self._commands[started.ident] = started
        self.send(id=started.ident, **message)
        return started

    def run(self, command, *, timeout=60, check=True, env=None, stdin=""):
        """Runs a command to its end.  Raises if it fails, unless check is false."""
        return self.popen(command, env=env, stdin=stdin).wait(timeout, check)

    def wait_until(self, condition, timeout=20):
        """Waits until a command line succeeds."""
        # A wait that takes seconds must not keep a processor busy with asking.
        self.run("ms=40\n"
                 f"until {condition}; do\n"
                 "  printf -v seconds 0.%03d $ms; sleep $seconds\n"
                 "  ((ms = ms < 400 ? ms * 5 / 4 : ms))\n"
                 "done", timeout=timeout)

    def wait_output(self, command, text, timeout=20):
        """Waits until a command line prints a text."""
        self.wait_until(f'[ "$({command})" = "{text}" ]', timeout)

    def wait_listening(self, port):
        """Waits until a server listens on a TCP port: most clients try only once."""
        self.wait_until(f"grep -qs ':{port:04X} [0:]* 0A ' /proc/net/tcp /proc/net/tcp6")

    def wait_listening_cm(self):
        """Waits until a server of the RDMA connection manager listens."""
        self.wait_until("rdma resource show cm_id | grep -q 'state LISTEN'")

    def kill_commands(self):
        """Kills every command that popen() started and that still runs."""
        with self._lock:
            commands = list(self._commands.values())
        for command in commands:
            command.kill()
        for command in commands:
            command.done.wait(20)

    # Files.  In the guest the share is /mnt/share.

    def put(self, source, name=None):
        """Copies a file into the share and returns its path in the guest."""
        target = self.share / (name or os.path.basename(source))
        shutil.copy(source, target)
        return f"/mnt/share/{target.name}"

    def get(self, path):
        """The bytes of a file of the guest."""
        self.run(["cp", path, "/mnt/share/.get"])
        return (self.share / ".get").read_bytes()

    # QEMU

    def qmp(self, command, **arguments):
        """Executes a QMP command and returns its answer."""
        if self._qmp is None:
            self._qmp = Qmp(self.qmp_socket)
        self.forget()
        return self._qmp.command(command, **arguments)

    # The kernel's log

    def _read_kernel_log(self):
        """All lines of the log; only new ones are fetched from the guest."""
        fresh = self._request("the kernel's log", kmsg=True).wait(30).stdout
        self._kernel_log += fresh.splitlines()
        return self._kernel_log

    def dmesg(self):
        """The whole kernel log."""
        return "\n".join(self._read_kernel_log())

    def dmesg_tail(self, lines=40):
        """The last lines of the kernel log."""
        return "\n".join(self._read_kernel_log()[-lines:])

    def console_tail(self, lines=40):
        """The last lines of the serial console."""
        try:
            text = self.console_log.read_text(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def assert_kernel_clean(self):
        """The kernel has reported nothing since the last call."""
        assert self.alive(), f"{self.name} died\n{self.console_tail()}"
        fresh = self._read_kernel_log()[self._kernel_lines_judged:]
        self._kernel_lines_judged += len(fresh)
        if paths.DEBUG and any("DMA-API: " in line for line in fresh):
            # DMA_API_DEBUG reports one finding, and the next one only if asked to.
            self.run("echo 1 > /sys/kernel/debug/dma-api/num_errors")
        self._judge(kernellog.reports(fresh))

    def expect_reports(self, *known):
        """The kernel may make these reports (see kernellog.Known)."""
        self._known_reports += known

    def _judge(self, reports):
        unknown = []
        for report in reports:
            known = [known for known in self._known_reports if known.matches(report)]
            if not known:
                unknown.append(report)
            elif any(each.ends_lockdep for each in known):
                # From here on this guest has no lockdep: the test's output says so.
                print(f"volume: {self.name}: lockdep has ended with a known report:"
                      f" {known[0].pieces}")
                self.expect_reports(kernellog.Known(kernellog.LOCKDEP_ENDED))
        assert not unknown, f"kernel log of {self.name}:\n" + "\n".join(unknown)

    def assert_healthy(self):
        """For registry.assert_healthy()."""
        try:
            self.assert_kernel_clean()
        except GuestError as error:
            raise AssertionError(str(error)) from error

    # Network and our modules

    # Findings are remembered until a device may have changed: in a guest without
    # KVM a look takes longer than a short test.

    def forget(self):
        """Forgets what was found, because devices or addresses may have changed."""
        self._found = {}

    def remember(self, key, find):
        """Returns what find() returns; called once for each key after forget()."""
        if key not in self._found:
            self._found[key] = find()
        return self._found[key]

    def _find(self, listing, what, timeout):
        """Waits until a command line prints something; returns the first word."""
        deadline = Deadline(timeout)
        while True:
            found = self.run(f"udevadm settle; {listing}").stdout.split()
            if found:
                return found[0]
            if deadline.over():
                raise GuestError(f"{self.name}: no {what}\n{self.dmesg_tail()}")
            time.sleep(0.2)

    def interface(self, timeout=20):
        """The name of the interface whose driver is virtio_net.

        Waits for one, under the name that udev gives it.
        """
        listing = ("cd /sys/class/net && for i in *; do"
                   " [ $i/device/driver -ef /sys/bus/virtio/drivers/virtio_net ] && echo $i;"
                   " done; true")
        return self.remember("interface", lambda: self._find(
            listing, "virtio_net interface", timeout))

    def configure_network(self):
        """Gives the interface the guest's address; returns its name."""
        self.forget()
        interface = self.interface()
        self.run(f"ip link set {interface} up &&"
                 f" ip addr replace {self.address}/24 dev {interface}")
        return interface

    def know(self, other):
        """Sets the MAC address of another guest, for as long as the interface is there.

        For a wire that damages frames.  ARP has no checksum: a damaged answer teaches a wrong
        address, which the kernel uses for half a minute without asking again.
        """
        mac = other.run(f"cat /sys/class/net/{other.interface()}/address").stdout.strip()
        self.run(f"ip neighbour replace {other.address} lladdr {mac} nud permanent"
                 f" dev {self.interface()}")

    def load_modules(self):
        """Loads our modules and the parts of the RDMA stack that programs use.

        The interface lost its address when the driver changed, so it is set again.
        """
        self.run("modprobe -a virtio_roce ib_uverbs rdma_ucm")
        return self.configure_network()

    def load_rxe(self):
        """Makes a Soft-RoCE device on the interface; returns its name."""
        interface = self.configure_network()
        self.run("modprobe -a rdma_rxe ib_uverbs rdma_ucm &&"
                 f" rdma link add rxe0 type rxe netdev {interface}")
        return "rxe0"

    def unload_modules(self):
        """Unloads our modules; the stock driver has the interface again."""
        self.run("modprobe -r virtio_net_roce virtio_roce")
        return self.configure_network()

    def rdma_device(self, timeout=20):
        """The name of the RDMA device that our driver made."""
        listing = ("cd /sys/class/infiniband 2> /dev/null && for i in *; do"
                   " [ -e $i/device ] && echo $i; done; true")
        return self.remember("rdma device", lambda: self._find(listing, "RDMA device", timeout))


class StockGuest(Guest):
    """A guest of stock Debian with QEMU's own virtio-net, nothing of ours.

    socket    what its network is connected to: a path, such as the uplink_socket of a
              daemon, or a descriptor that is one of fds
    """

    def __init__(self, name, number, socket, **guest):
        device = stream_device(socket, mac=f"52:54:00:77:00:{number:02x}")
        super().__init__(name, number, [device], install=False, **guest)

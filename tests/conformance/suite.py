# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""rdma-core's own tests, on our device in a guest, one process for each module."""

import dataclasses
import json
import pathlib
import re
import shutil
import time

import lab
from lab import paths
from lab.patience import Deadline
from lab.pingpong import gid_index
from lab.system import System

PROGRAM = pathlib.Path(__file__).parent / "in_guest.py"

# Seconds for one test.  No test needs a tenth of them.
TIMEOUT = 120

# Seconds for a start with systemd.
SYSTEM_BOOT = 300


@dataclasses.dataclass
class Outcome:
    """The outcome of one test; text is the reason of a skip or describes a failure."""

    name: str
    result: str
    text: str = ""

    @property
    def module(self):
        """Where the test is from."""
        return self.name.split(".")[1]

    @property
    def brief(self):
        """The last line of the text, which in a traceback names the error."""
        lines = self.text.strip().splitlines()
        return lines[-1].strip() if lines else ""


class Machine:
    """A daemon and a guest with our modules, replaced when they die."""

    def __init__(self, source):
        self.tests = source / "tests"
        self.version = version(source)
        self.guest = None
        self.daemon = None

    def boot(self):
        """The guest, with our modules and /mnt/share."""
        guest = lab.Guest("conformance", 1, [lab.roce_device(self.daemon.sockets[0])])
        guest.start().wait_ready().load_modules()
        return guest

    def start(self):
        """Also after stop()."""
        self.daemon = lab.Daemon("conformance-daemon", guests=1).start()
        self.guest = self.boot()
        shutil.copytree(self.tests, self.guest.share / "tests")
        self.guest.run("cp -r /mnt/share/tests /tmp")
        # Without huge pages some tests skip before they ask the device.
        self.guest.run("echo 16 > /proc/sys/vm/nr_hugepages")
        self.program = self.guest.put(PROGRAM)
        self.device = self.guest.rdma_device()
        self.arguments = ["--dev", self.device, "--port", "1",
                          "--gid", gid_index(self.guest, self.device)]
        self.idle = self.resources()
        return self

    def check_version(self):
        """The tests are of the version that the guest has."""
        version = self.guest.run("dpkg-query -W -f '${Version}' python3-pyverbs").stdout
        assert re.match(rf"{re.escape(self.version)}\b", version), \
            f"tests of rdma-core {self.version}, in the guest is {version}"

    def resources(self):
        """The kernel's objects of our device."""
        return self.guest.run("rdma resource show").stdout.strip()

    def trouble(self):
        """Objects that a module should not have left behind; usually none."""
        try:
            lab.assert_healthy()
            # Objects of a process are freed when it is reaped; its children may live longer.
            deadline = Deadline(10)
            while self.resources() != self.idle:
                if deadline.over():
                    return f"{self.resources()}, and before it was {self.idle}"
                time.sleep(0.5)
        except (AssertionError, lab.GuestError) as error:
            return str(error)
        return ""

    def popen(self, module, done):
        """Starts the tests of a module, without the first done."""
        return self.guest.popen(["python3", self.program, "/tmp/tests", module, str(done),
                                 *self.arguments])

    def stop(self):
        """Ends both, in any state."""
        for part in (self.guest, self.daemon):
            try:
                part.stop()
            except AssertionError as error:
                print(error)


class ReleaseMachine(Machine):
    """The same with another release of Debian, its kernel, and our packages."""

    def __init__(self, source, release):
        super().__init__(source)
        self.release = release

    def boot(self):
        """It has the modules early, and configures the network by itself."""
        arguments = self.daemon.control("qemu-args", self.daemon.sockets[0].name).splitlines()
        guest = System(f"conformance-{self.release}", "installed", [arguments], self.release)
        guest.start().wait_ready(SYSTEM_BOOT)
        guest.run("modprobe 9pnet_virtio && mkdir -p /mnt/share &&"
                  " mount -t 9p -o trans=virtio,version=9p2000.L share /mnt/share")
        guest.wait_until(f"ip -br -4 address | grep -q '^en.* UP .*{guest.address}/24'",
                         timeout=60)
        return guest


class ModuleRun:
    """The tests of one module, in as many processes as are needed."""

    def __init__(self, machine, module, log):
        self.machine = machine
        self.module = module
        self.log = log
        self.names = []
        self.outcomes = []
        self.current = None
        self.ended = False

    def run(self):
        """Returns the outcome of each test."""
        while not self.ended:
            why = self._process()
            if why is None:
                break
            # The test that was running has failed.  Without one it is not known with
            # which test to go on.
            self.outcomes.append(Outcome(self.current or f"tests.{self.module}", "failed", why))
            if self.current is None:
                break
        done = {outcome.name for outcome in self.outcomes}
        self.outcomes += [Outcome(name, "failed", "did not run")
                          for name in self.names if name not in done]
        return self.outcomes

    def _process(self):
        """Runs the remaining tests; returns why the process failed, or None."""
        self.current = None
        try:
            command = self.machine.popen(self.module, len(self.outcomes))
        except lab.GuestError as error:
            return str(error)
        why = self._follow(command)
        self.log.write(command.stderr)
        return f"{command.stderr[-2000:]}\n{why}" if why else None

    def _follow(self, command):
        read = 0
        deadline = Deadline(TIMEOUT)
        while True:
            over = command.done.wait(0.05)
            *lines, _ = command.stdout[read:].split("\n")
            for line in lines:
                read += len(line) + 1
                self._on_message(**json.loads(line))
                deadline = Deadline(TIMEOUT)
            if over:
                return None if self.ended and command.rc == 0 else \
                    f"the process ended, status {command.rc}"
            if deadline.over():
                command.kill()
                command.done.wait(20)
                return f"no end within {TIMEOUT} s"

    def _on_message(self, **message):
        if "tests" in message:
            self.names = message["tests"]
        elif "start" in message:
            self.current = message["start"]
        elif "name" in message:
            self.current = None
            self.outcomes.append(Outcome(**message))
            self.log.write(f"{message['name']}: {message['result']}\n{message['text']}\n")
        elif "skip" in message:
            self.outcomes.append(Outcome(f"tests.{self.module}", "skipped", message["skip"]))
        else:
            self.ended = True


def version(source):
    """The version of rdma-core, from the name of its source."""
    return re.search(r"rdma-core[-_]([\d.]+)$", source.name)[1]


def modules(source):
    """The names of all."""
    return sorted(path.stem for path in (source / "tests").glob("test_*.py"))


def run(source, names, report, release=None):
    """Runs modules; report is called with each outcome.  Returns all of them."""
    outcomes = []
    machine = (ReleaseMachine(source, release) if release else Machine(source)).start()
    machine.check_version()
    logs = paths.run_directory("conformance-logs")
    for name in names:
        with open(logs / f"{name}.log", "w", encoding="utf-8") as log:
            found = ModuleRun(machine, name, log).run()
        trouble = machine.trouble()
        if trouble:
            found.append(Outcome(f"tests.{name}", "failed", f"after it: {trouble}"))
            machine.stop()
            machine.start()
        for outcome in found:
            report(outcome)
        outcomes += found
    machine.stop()
    return outcomes

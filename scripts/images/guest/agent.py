# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Runs commands for the host, in a guest.

It talks over the virtio-serial port "lab.agent", one JSON object a line.
From the host:
    {"id": N, "run": ARGV, "env": {...}, "stdin": TEXT}
    {"id": N, "kill": SIGNAL}           to all processes of command N
    {"id": N, "kmsg": true}             what the kernel said since last asked, as output
    {"poweroff": true}
    {"thaw": NAME, "time": SECONDS, "seed": HEX}    first of all, to a frozen guest
To the host:
    {"ready": true}                     once
    {"id": N, "pid": P}                 it runs
    {"id": N, "out": TEXT}, {"id": N, "err": TEXT}
    {"id": N, "exit": STATUS}           last; negative for a signal

Any number of commands run at a time, each in a session of its own, so that a
signal reaches all that it started.
"""

import codecs
import fcntl
import glob
import json
import os
import re
import selectors
import signal
import struct
import subprocess
import sys
import time


class Command:
    """A running command, with its pipes in the agent's selector."""

    def __init__(self, agent, request):
        self.agent = agent
        self.id = request["id"]
        self.process = subprocess.Popen(
            request["run"],
            env={**os.environ, **request.get("env", {})},
            stdin=self.input_file(request.get("stdin", "")),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        agent.send(id=self.id, pid=self.process.pid)
        self.pipes = {}
        for key, pipe in (("out", self.process.stdout), ("err", self.process.stderr)):
            os.set_blocking(pipe.fileno(), False)
            self.pipes[pipe] = (key, codecs.getincrementaldecoder("utf-8")("replace"))
            agent.selector.register(pipe, selectors.EVENT_READ,
                                    lambda pipe=pipe: self.on_output(pipe))
        # The end of the process, not of its pipes, ends a command: a
        # program that it left behind may hold those open for ever.
        self.pidfd = os.pidfd_open(self.process.pid)
        agent.selector.register(self.pidfd, selectors.EVENT_READ, self.on_exit)

    @staticmethod
    def input_file(text):
        """A file, not a pipe: the agent must not wait for a slow reader."""
        file = os.fdopen(os.memfd_create("stdin"), "w+b")
        file.write(text.encode())
        file.seek(0)
        return file

    def on_output(self, pipe):
        """Passes on what is there; returns False at the end."""
        key, decoder = self.pipes[pipe]
        try:
            data = os.read(pipe.fileno(), 65536)
        except BlockingIOError:
            return False
        text = decoder.decode(data, final=not data)
        if text:
            self.agent.send(**{"id": self.id, key: text})
        if not data:
            self.agent.selector.unregister(pipe)
            del self.pipes[pipe]
            pipe.close()
        return bool(data)

    def on_exit(self):
        for pipe in list(self.pipes):
            while self.on_output(pipe):
                pass
        for pipe in self.pipes:
            self.agent.selector.unregister(pipe)
            pipe.close()
        self.agent.selector.unregister(self.pidfd)
        os.close(self.pidfd)
        del self.agent.commands[self.id]
        self.agent.send(id=self.id, exit=self.process.wait())

    def kill(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass


class KernelLog:
    """The kernel's messages, each line once, in the form of dmesg.

    A guest without KVM needs a second for all of it.
    """

    def __init__(self):
        self.file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def read(self):
        """All that is new, as one text."""
        texts = []
        while True:
            try:
                # "priority,number,microseconds,flag[,caller=T1];text", then lines of
                # properties.
                record = os.read(self.file, 16384).decode(errors="replace")
            except BlockingIOError:
                return "".join(texts)
            except BrokenPipeError:
                texts.append("BUG: the kernel's log was overwritten before it was read\n")
                continue
            head, text = record.split("\n")[0].split(";", 1)
            fields = head.split(",")
            microseconds = int(fields[2])
            stamp = f"[{microseconds // 1000000:5}.{microseconds % 1000000:06}]"
            stamp += "".join(f"[{field[7:]:>6}]" for field in fields[4:]
                             if field.startswith("caller=")) + " "
            text = re.sub(r"\\x([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), text)
            texts += [f"{stamp}{line}\n" for line in text.split("\n")]


class Agent:
    """The port to the host, and the commands."""

    def __init__(self, port):
        self.port = port
        self.commands = {}
        self.kernel_log = KernelLog()
        self.selector = selectors.DefaultSelector()
        self.running = True
        self.unread = b""
        self.selector.register(port, selectors.EVENT_READ, self.on_requests)

    def send(self, **message):
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self.port, data):]

    def on_requests(self):
        data = os.read(self.port, 65536)
        if not data:
            # The host is gone, so there is no more work.
            self.running = False
        *lines, self.unread = (self.unread + data).split(b"\n")
        for line in lines:
            self.on_request(json.loads(line))

    def on_request(self, request):
        if "run" in request:
            try:
                self.commands[request["id"]] = Command(self, request)
            except OSError as error:
                self.send(id=request["id"], err=f"{error}\n")
                self.send(id=request["id"], exit=127)
        elif "kill" in request:
            command = self.commands.get(request["id"])
            if command:
                command.kill(request["kill"])
        elif "kmsg" in request:
            self.send(id=request["id"], out=self.kernel_log.read())
            self.send(id=request["id"], exit=0)
        elif "poweroff" in request:
            self.running = False

    def serve(self):
        self.send(ready=True)
        while self.running:
            for key, _ in self.selector.select():
                # An earlier event may have ended this one's command.
                if self.selector.get_map().get(key.fd) is key:
                    key.data()
        for command in self.commands.values():
            command.kill(signal.SIGKILL)


def set_different(request):
    """Makes this guest another one than all that were frozen with it."""
    time.clock_settime(time.CLOCK_REALTIME, request["time"])
    seed = bytes.fromhex(request["seed"])
    with open("/dev/random", "wb", buffering=0) as random:
        # RNDADDENTROPY, with the bits and the bytes that follow, and RNDRESEEDCRNG.
        fcntl.ioctl(random, 0x40085203, struct.pack("=ii", 8 * len(seed), len(seed)) + seed)
        fcntl.ioctl(random, 0x5207)
    subprocess.run(["/run/lab/thaw", request["thaw"]], check=True)


def freeze(port):
    """Says that it is ready, to one host, and waits for another one."""
    os.write(port, b'{"ready": true}\n')
    unread = b""
    while b"\n" not in unread:
        # As long as no host is connected, read() returns nothing at once.
        unread += os.read(port, 65536)
        time.sleep(0.01)
    set_different(json.loads(unread))


def find_port():
    for path in glob.glob("/sys/class/virtio-ports/*/name"):
        with open(path, encoding="ascii") as name:
            if name.read().strip() == "lab.agent":
                return os.open("/dev/" + path.split("/")[-2], os.O_RDWR | os.O_CLOEXEC)
    raise SystemExit("agent: no port to the host")


os.chdir("/root")
PORT = find_port()
if "freeze" in sys.argv:
    freeze(PORT)
Agent(PORT).serve()

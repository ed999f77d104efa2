# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The recipe of README.md for two virtual machines: its commands, and what they print.

The machines are those of test_packages.py, where apt has installed our packages.
"""

import collections
import os
import re
import subprocess

import pytest

from lab import machine, paths
from lab.registry import stop_all
from lab.pingpong import PORT
from lab.system import System

BOOT = 300
Step = collections.namedtuple("Step", "place command printed")


def recipe():
    """Its steps: where a command is given, the command, and the lines that follow."""
    text = (paths.TOP / "README.md").read_text(encoding="utf-8")
    block = re.search(r"## Your own two.*?```\n(.*?)```", text, re.DOTALL)[1]
    steps = []
    for line in block.replace("\\\n", " ").splitlines():
        prompt = re.match(r"(\w+)# (.*)", line)
        if prompt:
            steps.append(Step(prompt[1], prompt[2], []))
        elif not re.match(r"\d\. ", line):
            steps[-1].printed.append(line)
    return steps


def assert_printed(step, said):
    """Each line that the recipe shows was printed, but for its numbers."""
    said = " ".join(said.split())
    for line in step.printed:
        pattern = re.sub(r"(0x)?[0-9a-f]*\d[0-9a-f.]*", "[0-9a-fx.]+",
                         re.escape(" ".join(line.split())).replace("\\.", "."))
        assert re.search(pattern, said), f"{step.command}: no {line!r} in\n{said}"


class Host:
    """Runs the commands of the host, with its sockets elsewhere."""

    def __init__(self, directory):
        self.directory = directory
        self.environment = {**os.environ, "PATH": f"{paths.BUILD}/device:{os.environ['PATH']}"}
        self.daemon = None

    def here(self, command):
        """A command that has our directory."""
        return command.replace("/run/roce", str(self.directory))

    def start_daemon(self, command):
        """Runs the line that ends with an ampersand; returns what it says."""
        # pylint: disable-next=consider-using-with
        self.daemon = subprocess.Popen(
            ["bash", "-c", f"exec {self.here(command).removesuffix('&')}"], text=True,
            env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        return self.wait_for("num_vqs")

    def wait_for(self, text):
        """The daemon's output, up to a line with a text."""
        said = ""
        while text not in said.rpartition("\n")[0].rpartition("\n")[2]:
            line = self.daemon.stderr.readline()
            assert line, said
            said += line
        return said

    def arguments(self, commands, name):
        """The arguments that QEMU gets by the lines with mapfile and qemu-system-x86_64."""
        mapfile, qemu = (self.here(command) for command in commands)
        mapfile = mapfile.removesuffix(" a)") + f" {name})"
        qemu = qemu.replace("qemu-system-x86_64", "printf '%s\\n'").partition(" -smp")[0]
        said = subprocess.run(["bash", "-ec", f"{mapfile}\n{qemu}"], env=self.environment,
                              check=True, stdout=subprocess.PIPE, text=True).stdout
        return said.splitlines()

    def slots(self, commands):
        """The PCI slots of machine a, which does not run, by the ids of what is in them."""
        mapfile, qemu = (self.here(command) for command in commands)
        qemu = qemu.removesuffix(" &").replace("file=a.qcow2", "driver=null-co")
        # Its ports are those of a namespace of its own.
        script = (f"ip link set lo up; qemu-system-x86_64() {{ {paths.TOP}/scripts/images/qemu \"$@\"; }}"
                  f"\n{mapfile}\n{qemu} -S -monitor stdio")
        said = subprocess.run(["unshare", "-n", "bash", "-ec", script], env=self.environment,
                              input="info pci\nquit\n", check=True, stdout=subprocess.PIPE,
                              text=True).stdout
        return {card: int(slot) for slot, card in re.findall(
            r"device +(\d+), function 0:\s+[^:]+: PCI device (\S+)", said)}

    def stop(self):
        """Ends the daemon."""
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait()


@pytest.fixture(name="host")
def _host(tmp_path):
    host = Host(tmp_path)
    yield host
    stop_all()
    host.stop()


def start_machine(name, number, arguments, monkeypatch):
    """A system with the memory that the recipe gives it, in the place of the lab's."""
    split = arguments.index("-chardev")
    lab_arguments = machine.arguments

    def of_recipe(*positional, **named):
        words, kept = iter(lab_arguments(*positional, **named)), []
        for word in words:
            if word in ("-m", "-object", "-machine"):
                next(words)
            else:
                kept.append(word)
        return [*arguments[:split], *kept]

    with monkeypatch.context() as patch:
        patch.setattr(machine, "arguments", of_recipe)
        system = System(name, "installed", [arguments[split:]])
        system.number = number
        return system.start()


def test_names_of_interfaces(host):
    """Those of the recipe are those that a machine with its arguments has."""
    _, _, daemon, mapfile, qemu, *_ = steps = recipe()
    host.start_daemon(daemon.command)
    slots = host.slots((mapfile.command, qemu.command))
    ours, ssh = (f"enp0s{slots[card]}" for card in ("1af4:1041", "8086:10d3"))
    readme = (paths.TOP / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"dev (enp0s\d+)", " ".join(step.command for step in steps))) == {ours}
    assert f"{ours} is this card, {ssh} is for ssh" in readme
    assert f"netdev {ours}" in readme and f"DHCP on {ssh}" in readme
    guest = (paths.TOP / "Documentation" / "guest.rst").read_text(encoding="utf-8")
    assert f"Name={ours}\n" in guest


@pytest.mark.skipif(not paths.LONG, reason="it boots two systems")
def test_two_virtual_machines(host, monkeypatch):
    """From nothing to a ping-pong."""
    steps = recipe()
    assert [step.place for step in steps[:5]] == ["build", "host", "host", "host", "host"]
    build, host_setup, daemon, mapfile, qemu, install, *inside = steps
    System("a", "installed", []).image()
    assert_printed(build, "\n".join(os.listdir(paths.BUILD / "packages")))
    # test_packages.py installs these packages by apt.
    mkdir = host_setup.command.rpartition("&& ")[2]
    subprocess.run(["bash", "-ec", host.here(mkdir)], check=True)
    assert_printed(daemon, host.start_daemon(daemon.command))
    guests = {}
    for number, name in enumerate("ab", 1):
        arguments = host.arguments((mapfile.command, qemu.command), name)
        guests[name] = start_machine(name, number, arguments, monkeypatch)
        said = host.wait_for(f"{name}: connected")
        if name == "a":
            assert_printed(qemu, said)
    assert "./virtio-net-roce-dkms_" in install.command
    for guest in guests.values():
        guest.wait_ready(BOOT)
        # Their image has an address of its own.
        guest.run("rm /etc/systemd/network/wired.network; systemctl stop systemd-networkd;"
                  f" ip address flush dev {guest.interface()} scope global")
    for step in inside:
        guest = guests[step.place]
        command = step.command.replace("enp0s3", guest.interface())
        if command.endswith(" &"):
            guest.popen(command.removesuffix(" &"))
            guest.wait_listening(PORT)
            continue
        if "rdma link" in command:
            guest.run(command)
            guest.wait_until("rdma link | grep -q ACTIVE", timeout=60)
            command = "rdma link"
        said = guest.run(command).stdout
        print(f"{step.place}# {command}\n{said}")
        assert_printed(step, said)

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Shows the device at work between two guests.

usage: demo.py            the tour, with figures
       demo.py --sizes    the same, and latency and bandwidth of other sizes
       demo.py --shell    leaves the guests up, with a console to each

The figures are written to build/demo.json as well, from which "make figures" makes the
table and the plot of README.md.
"""

import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "tests"))

import lab  # noqa: E402  (found by the line above)
from lab.perftest import perftest  # noqa: E402
from lab.pingpong import PingPong, pingpong  # noqa: E402

REPEAT = 3
OURS, SOFT = "virtio-net RoCE", "Soft-RoCE"
SIZES = [64, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20]
# Messages of a run, so that either device has something to do for a moment.
COUNT = {OURS: 20000, SOFT: 1000}
# The measures: title, unit and whether less is better.
MEASURES = {
    "pingpong_us": ("ping-pong of 4 KiB, there and back", "us", True),
    "write_gbits": ("RDMA WRITE of 64 KiB", "Gbit/s", False),
    "send_mps": ("SEND of 64 bytes", "M/s", False),
}


class Steps:
    """Says what is done now and how long the last step took."""

    def __init__(self):
        self.text = None
        self.start = self.begin = time.monotonic()

    def __call__(self, text):
        self.end()
        self.text, self.start = text, time.monotonic()
        print(f"==> {text}", flush=True)

    def end(self):
        """Of the step now running."""
        if self.text:
            print(f"    {self.text}: {time.monotonic() - self.start:.1f} s", flush=True)
        self.text = None

    def total(self):
        """Of all steps."""
        self.end()
        print(f"    all: {time.monotonic() - self.begin:.1f} s", flush=True)


def show_ended(guest, command):
    """Prints what was typed in the guest, and what came."""
    typed = command.command
    print(f"{guest.name}# {typed if isinstance(typed, str) else ' '.join(typed)}")
    print("".join(f"    {line}\n" for line in command.stdout.splitlines()), end="", flush=True)


def show(guest, command):
    """Runs a command in a guest, before the eyes of the reader."""
    show_ended(guest, guest.run(command))


def show_pingpong(server, client, device):
    """The same for ibv_rc_pingpong, the client's side; microseconds per iteration."""
    run = PingPong(server, client, devices=(device, device))
    microseconds = run.wait()
    show_ended(client, run.client)
    return microseconds


class Measure:
    """Runs programs on one device or the other, between the same guests."""

    def __init__(self, pair):
        self.pair = pair
        self.devices = {OURS: pair.a.rdma_device(), SOFT: "rxe0"}

    def pingpong_us(self, name, size=4096):
        """Microseconds there and back."""
        return pingpong(self.pair.b, self.pair.a, size=size,
                        iterations=1000 if size < 1 << 18 else 100,
                        devices=(self.devices[name],) * 2)

    def _perftest(self, program, name, size):
        # Few of the long ones, which would take long.
        count = max(100, min(COUNT[name], COUNT[name] * (16 << 10) // size))
        table = perftest(self.pair, program, "-s", size, "-n", count, "--report_gbits",
                         devices={guest: self.devices[name] for guest in self.pair.guests})
        return table[-1]

    def write_gbits(self, name, size=64 << 10):
        """Gigabits a second, by the rate of messages, which is printed with more digits."""
        return self._perftest("ib_write_bw", name, size)[4] * size * 8 / 1e3

    def send_mps(self, name, size=64):
        """Million messages a second."""
        return self._perftest("ib_send_bw", name, size)[4]

    def all(self):
        """Each figure once, of both devices in turn."""
        return {what: {name: getattr(self, what)(name) for name in (OURS, SOFT)}
                for what in MEASURES}

    def sizes(self):
        """Ping-pong and bandwidth over the size of a message."""
        return [{"size": size,
                 "pingpong_us": {name: self.pingpong_us(name, size) for name in (OURS, SOFT)},
                 "write_gbits": {name: self.write_gbits(name, size) for name in (OURS, SOFT)}}
                for size in SIZES]


def processor():
    """The host's name of its processor."""
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^model name\s*: (.*)", text, re.MULTILINE)
    return found[1] if found else platform.machine()


def circumstances(guest, load):
    """When and where figures come from; load is that of the host before the guests came."""
    commit = subprocess.run(["git", "-C", str(TOP), "describe", "--always", "--dirty"],
                            capture_output=True, text=True, check=False).stdout.strip()
    return {
        "date": datetime.date.today().isoformat(),
        "commit": commit or "unknown",
        "processor": processor(),
        "processors": os.cpu_count(),
        "load": load,
        "kvm": False,  # the lab's guests are always emulated
        "guest_kernel": guest.run("uname -r").stdout.strip(),
        "mtu": int(guest.run(f"cat /sys/class/net/{guest.interface()}/mtu").stdout),
    }


def short(value):
    """A figure with three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def summary(figures):
    """The figures as lines for the reader."""
    yield f"{'':36}{OURS:>17}{SOFT:>14}{'factor':>9}"
    for what, (title, unit, less) in MEASURES.items():
        ours, soft = (statistics.median(figures["runs"][what][name]) for name in (OURS, SOFT))
        factor = soft / ours if less else ours / soft
        yield (f"{title:36}{short(ours) + ' ' + unit:>17}{short(soft) + ' ' + unit:>14}"
               f"{short(factor):>8}x")
    yield ""
    yield (f"Medians of {figures['repeat']} runs in turn, in the same two guests of one virtual"
           f" processor each;\n{figures['processors']} processors for all,"
           f" {'KVM' if figures['kvm'] else 'no KVM'}.  build/demo.json has them, too.")
    if figures["load"] > 1:
        yield f"The machine was busy before (load {figures['load']}): quieter, they are better."


def tour(step, sizes=False):
    """The demo."""
    load = round(os.getloadavg()[0], 1)
    step("starting the device daemon and two guests")
    pair = lab.Pair().start()
    a, b = pair.guests

    step("Ethernet: the stock virtio_net driver owns the device")
    for guest in pair.guests:
        guest.configure_network()
    show(a, f"ip -brief address show {a.interface()}")
    show(a, f"ping -c 3 -i 0.2 {b.address}")

    step("loading virtio_net_roce and virtio_roce")
    pair.load_modules()
    interface = a.interface()
    show(a, f"ip -brief address show {interface}")
    show(a, f"ping -c 3 -i 0.2 {b.address}")
    show(a, "rdma link")
    show(a, "ibv_devinfo")

    step("ibv_rc_pingpong over virtio-net RoCE")
    show_pingpong(b, a, a.rdma_device())

    step("the same over Soft-RoCE, on the same interfaces of the same guests")
    for guest in pair.guests:
        guest.run("modprobe rdma_rxe"
                  f" && rdma link add rxe0 type rxe netdev {guest.interface()}")
    show_pingpong(b, a, "rxe0")

    # Whatever else runs on this machine shows in single figures.
    step(f"ibv_rc_pingpong, ib_write_bw and ib_send_bw over both, {REPEAT} times in turn")
    measure = Measure(pair)
    runs = [measure.all() for _ in range(REPEAT)]
    figures = {**circumstances(a, load), "repeat": REPEAT,
               "runs": {what: {name: [run[what][name] for run in runs] for name in (OURS, SOFT)}
                        for what in MEASURES}}
    if sizes:
        step(f"both at {len(SIZES)} sizes")
        figures["sizes"] = measure.sizes()

    step("shutting down")
    lab.assert_healthy()
    pair.stop()
    step.total()
    figures["summary"] = list(summary(figures))
    print("", *figures["summary"], sep="\n")
    (TOP / "build" / "demo.json").write_text(json.dumps(figures, indent=1) + "\n",
                                             encoding="utf-8")


def shell(step):
    """Guests to log in to."""
    step("starting the device daemon and two guests")
    pair = lab.Pair(shell=True).start()
    step("loading virtio_net_roce and virtio_roce")
    pair.load_modules()
    step.end()
    print("\nTwo guests are up.  In another terminal, for a shell in one:")
    for guest in pair.guests:
        print(f"    {guest.name}, {guest.address}:  socat -,raw,echo=0,escape=0x1d"
              f" UNIX-CONNECT:{guest.shell_socket}")
    print("Ctrl-] leaves a shell.  For a ping-pong run in a:  ibv_rc_pingpong -g 1\n"
          f"and then in b:  ibv_rc_pingpong -g 1 {pair.a.address}\n"
          f"Files in {pair.a.share} are in /mnt/share there.\n"
          "Enter here shuts the guests down.", flush=True)
    try:
        sys.stdin.readline()
    except KeyboardInterrupt:
        print()
    step("shutting down")
    pair.stop()
    step.total()


def main():
    """Returns the exit status."""
    step = Steps()
    try:
        if sys.argv[1:] == ["--shell"]:
            shell(step)
        else:
            tour(step, sizes=sys.argv[1:] == ["--sizes"])
    except (lab.GuestError, AssertionError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

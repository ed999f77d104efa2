#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Shows the device at work between two guests.

usage: demo.py            the tour, with figures
       demo.py --shell    leaves the guests up, with a console to each
"""

import pathlib
import statistics
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "tests"))

import lab  # noqa: E402  (found by the line above)
from lab.pingpong import PingPong, pingpong  # noqa: E402

REPEAT = 3


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
    """What was typed in the guest, and what came."""
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


def tour(step):
    """The demo."""
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
    ours = [show_pingpong(b, a, a.rdma_device())]

    step("the same over Soft-RoCE, on the same interfaces of the same guests")
    for guest in pair.guests:
        guest.run("modprobe rdma_rxe"
                  f" && rdma link add rxe0 type rxe netdev {guest.interface()}")
    soft = [show_pingpong(b, a, "rxe0")]

    # Whatever else runs on this machine shows in single figures.
    step(f"both {REPEAT} times more, in turn")
    for _ in range(REPEAT):
        ours.append(pingpong(b, a))
        soft.append(pingpong(b, a, devices=("rxe0", "rxe0")))

    step("shutting down")
    lab.assert_healthy()
    pair.stop()
    step.total()

    print("\nibv_rc_pingpong, 1000 times 4096 bytes there and back, us per iteration:")
    for name, times in (("virtio-net RoCE", ours), ("Soft-RoCE", soft)):
        print(f"    {name:16} best {min(times):8.1f}   median {statistics.median(times):8.1f}")


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
        (shell if sys.argv[1:] == ["--shell"] else tour)(step)
    except (lab.GuestError, AssertionError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

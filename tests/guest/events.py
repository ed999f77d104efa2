# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Arms a CQ and sleeps until its event, many times.

events.py next DEVICE ROUNDS [SERVER]   for any completion; two guests, in turns
events.py solicited DEVICE ROUNDS       for solicited ones; both ends are here

The completion comes at another moment each time: before the CQ is armed, meanwhile,
afterwards, or when the process already sleeps.  An event that does not come within
10 s is lost.
"""

import os
import random
import select
import sys

from pyverbs import enums
from pyverbs.mr import MR

from ends import ACCESS_ALL, PAGE, End, Memory, Peer, check, connected

LOST_MS = 60000


def event_file():
    """The descriptor of the completion channel: the library made its own one before."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}") == "anon_inode:[infinibandevent]":
                found.append(int(name))
        except FileNotFoundError:
            pass  # that of the listing
    return max(found)


def interrupts(device):
    """Of the PCI function so far: completions, and answers to commands."""
    function = os.path.basename(os.path.realpath(f"/sys/class/infiniband/{device}/device"))
    with open("/proc/interrupts", encoding="ascii") as lines:
        return sum(int(line.split()[1]) for line in lines if function in line)


class Events:
    """A receiver with a channel, its sender, and counts."""

    def __init__(self, sender, receiver):
        self.a, self.b = sender, receiver
        self.memory = Memory(PAGE)
        self.mr = MR(self.b.pd, PAGE, ACCESS_ALL, address=self.memory.address)
        self.poll = select.poll()
        self.poll.register(event_file(), select.POLLIN)
        self.arms = self.events = self.slept = self.spurious = self.sends = 0

    def arm(self, solicited=False):
        """Asks for one event."""
        self.b.cq.req_notify(solicited)
        self.arms += 1

    def recv(self):
        """A receive request."""
        self.b.recv(self.mr, self.memory.address, 64)

    def send(self, solicited=False):
        """A SEND; one in 16 leaves a completion, as those before it are done by then."""
        self.sends += 1
        self.a.send(self.mr, self.memory.address, 8, wr_id=1,
                    signaled=self.a is not self.b or self.sends % 16 == 0,
                    flags=enums.IBV_SEND_SOLICITED if solicited else 0)

    def pending(self):
        """Is there an event?"""
        return bool(self.poll.poll(0))

    def take(self):
        """Takes the event that is there."""
        self.b.channel.get_cq_event(self.b.cq)
        self.b.cq.ack_events(1)
        self.events += 1

    def wait(self):
        """Sleeps until there is an event, and takes it."""
        self.slept += not self.pending()
        check(self.poll.poll(LOST_MS), "lost a wake-up after", self.events, "events and",
              self.arms, "armings")
        self.take()

    def sent(self, count=1):
        """Polls the sender's own completions, which cause no event."""
        for _, status, _ in self.a.completions(count):
            check(status == "SUCCESS", status)

    def received(self):
        """How many completions the receiver has."""
        number, completions = self.b.cq.poll(16)
        for completion in completions:
            check(completion.status == enums.IBV_WC_SUCCESS, completion.status)
            number -= completion.opcode == enums.IBV_WC_SEND
        return number

    def await_completion(self):
        """Polls an armed CQ once more, then sleeps."""
        got = self.received()
        while not got:
            self.wait()
            got = self.received()
            if not got:
                # This event is of an earlier round that found its completion by polling.
                self.spurious += 1
                self.arm()
                got = self.received()


def spin(rng):
    """Waits for a random time, at most as long as a message takes."""
    for _ in range(rng.choice((0, 0, 10, 100, rng.randrange(1500)))):
        pass


def play_next(device, rounds, server=None):
    """As programs do: arm, poll once more, sleep; then it is the other end's turn."""
    end = End(device, events=True)
    peer, rng = Peer(server), random.Random(bool(server))
    there = peer.swap(qpn=end.qp.qp_num, gid=end.gid)
    end.connect(there["qpn"], there["gid"])
    events = Events(end, end)
    for _ in range(2):
        events.recv()
    peer.swap(ready=True)
    events.arm()
    if server:
        events.send()
    for _ in range(rounds):
        events.await_completion()
        events.recv()
        spin(rng)
        late = rng.random() < 0.25
        if not late:
            events.arm()
        events.send()
        if late:
            events.arm()
    peer.swap(done=True)
    check(events.slept > rounds // 2, "slept", events.slept)
    return events


def round_solicited(events, rng):
    """Only solicited completions wake the process, except for spurious events.

    All CQs and Ethernet share one interrupt: an interrupt for another one may find this
    CQ armed with new completions, and the driver cannot tell if any was solicited.
    """
    events.arm(True)
    others = rng.randrange(3)
    for _ in range(others):
        events.recv()
        events.send()
    got = 0
    while got < others:
        got += events.received()
    if events.pending():
        events.take()
        events.spurious += 1
        events.arm(True)
    events.recv()
    events.send(True)
    spin(rng)
    events.wait()
    while not events.received():
        events.spurious += 1
        events.arm(True)
        if events.received():
            break
        events.wait()
    events.sent(others + 1)


def error_wakes(events):
    """An error raises an event of a CQ armed for solicited completions, too."""
    events.arm(True)
    events.b.recv(events.mr, events.memory.address, 4)
    events.a.send(events.mr, events.memory.address, 8)
    events.wait()
    check(events.b.status() == "LOC_LEN_ERR", "not the error that was made")


def play_solicited(device, rounds):
    """Rounds, then an error."""
    events, rng = Events(*connected(device, events=True)), random.Random(1)
    for _ in range(rounds):
        round_solicited(events, rng)
    error_wakes(events)
    return events


def main():
    """Does what the command line says."""
    mode, device, rounds, *server = sys.argv[1:]
    before = interrupts(device)
    play = {"next": play_next, "solicited": play_solicited}[mode]
    events = play(device, int(rounds), *server)
    check(events.events <= events.arms, "more events than were asked for")
    print(f"armed {events.arms} events {events.events} slept {events.slept}"
          f" spurious {events.spurious} interrupts {interrupts(device) - before}", flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""mckey of rdma-core: one end sends datagrams to a multicast group, others count them."""

from .again import attempts
from .programs import counters

GROUP = "239.1.1.1"

# Our function accepts this many at a time.
COUNT = 16


def _start(guest, count, *arguments):
    return guest.popen(["stdbuf", "-oL", "mckey", "-m", GROUP, "-b", guest.address,
                        "-C", str(count), "-S", "1000", *arguments])


def _succeeded(command, timeout):
    output = command.wait(timeout, check=True).stdout
    assert "return status 0" in output, output


def _send(sender, posted):
    """Sends until enough datagrams have left: mckey may end before that, on a busy machine.

    Returns how many were posted.
    """
    device = sender.run("ls /sys/class/infiniband").stdout.split()[-1]
    before = counters(sender, device)["sent_pkts"]
    for number, _ in enumerate(attempts("mckey ends before enough is sent"), 1):
        _succeeded(_start(sender, posted, "-s"), 60)
        sent = counters(sender, device)["sent_pkts"] - before
        print(f"{sender.name}: {sent} packets sent, {posted} datagrams posted")
        if sent >= COUNT:
            return number * posted
    raise AssertionError(f"{sent} packets sent")


def multicast(sender, receivers, posted=COUNT, *, timeout=60):
    """Each receiver gets COUNT datagrams of those that are posted; returns how many were.

    mckey ends without waiting until all is sent.  Soft-RoCE sends in a thread of its
    own, so more datagrams are posted than must arrive.
    """
    devices = [receiver.run("ls /sys/class/infiniband").stdout.split()[-1]
               for receiver in receivers]
    came = [counters(receiver, device)["rcvd_pkts"]
            for receiver, device in zip(receivers, devices)]
    listening = [_start(receiver, COUNT) for receiver in receivers]
    for command in listening:
        command.wait_output("joined dgid")
    posted = _send(sender, posted)
    for command in listening:
        _succeeded(command, timeout)
    # It looks at no status of a completion.
    for receiver, device, before in zip(receivers, devices, came):
        assert counters(receiver, device)["rcvd_pkts"] - before >= COUNT
    return posted

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""mckey of rdma-core: one end sends datagrams to a multicast group, others count them."""

from .programs import counters

GROUP = "239.1.1.1"

# Our function accepts this many at a time.
COUNT = 16


def _start(guest, count, *arguments):
    return guest.popen(["stdbuf", "-oL", "mckey", "-m", GROUP, "-b", guest.address,
                        "-C", str(count), "-S", "1000", *arguments])


def multicast(sender, receivers, posted=COUNT, *, timeout=60):
    """Each receiver gets COUNT datagrams of those that are posted.

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
    sending = _start(sender, posted, "-s")
    for command in (sending, *listening):
        output = command.wait(timeout, check=True).stdout
        assert "return status 0" in output, output
    # It looks at no status of a completion.
    for receiver, device, before in zip(receivers, devices, came):
        assert counters(receiver, device)["rcvd_pkts"] - before >= COUNT

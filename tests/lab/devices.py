# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""QEMU arguments for the devices that guests get."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Limits:
    """How large a RoCE device is; daemon and QEMU must be told the same."""

    # Those with virtqueues: few, because programs and kernel use direct ones.  Each
    # virtqueue makes a start of the function longer, most of all on the debug kernel.
    qps: int = 4
    cqs: int = 4
    queue_size: int = 1024
    event_queues: int = 4
    doorbell_queues: int = 1
    # Objects for programs: fewer than the daemon's own limit, as tests use up all of them.
    direct_qps: int = 512
    direct_cqs: int = 512
    # Memory regions: a quarter of the daemon's own limit, as tests use up all of them, too.
    mrs: int = 4096
    # Pairs of Ethernet queues.
    queue_pairs: int = 1

    @property
    def queues(self):
        """Virtqueues: receive, transmit, control; completion; send and receive; the rest."""
        return (2 * self.queue_pairs + 1 + self.cqs + 2 * self.qps + self.event_queues
                + self.doorbell_queues)


# All queues are virtqueues, as the RFC has them.
VIRTQUEUES = Limits(qps=32, cqs=64, event_queues=0, doorbell_queues=0, direct_qps=0, direct_cqs=0)


def roce_properties(chardev, limits=Limits()):
    """QMP arguments of the device that makes vhost-user-roce a PCI function."""
    return {
        "driver": "vhost-user-test-device-pci",
        "chardev": chardev,
        "virtio-id": 1,
        "num_vqs": limits.queues,
        "vq_size": limits.queue_size,
        # Without event virtqueues it ends after the RFC's part.
        "config_size": 36 if limits.event_queues else 32,
        "page-per-vq": True,
    }


def _argument(properties):
    def text(value):
        return {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) \
            else str(value)

    driver = properties.pop("driver")
    return ",".join([driver] + [f"{key}={text(value)}" for key, value in properties.items()])


class Plugged(list):
    """QEMU arguments of what must be plugged in after a frozen guest has gone on.

    QEMU refuses to read a guest's state beside a device whose own it cannot read.
    """

    def commands(self, bus):
        """The same for QEMU's monitor."""
        for option, value in zip(self[::2], self[1::2]):
            yield f"chardev-add {value}" if option == "-chardev" else \
                f"device_add {value},bus={bus}"


def roce_device(socket, limits=Limits(), ident="roce0", **properties):
    """A function served by a daemon that listens on socket.

    properties are more properties of the QEMU device, such as bus.
    """
    properties = {**roce_properties(f"{ident}-socket", limits), "id": ident, **properties}
    return Plugged(["-chardev", f"socket,id={ident}-socket,path={socket}",
                    "-device", _argument(properties)])


def stream_device(socket, *, mac, ident="net0", **properties):
    """An ordinary virtio-net function, connected to another by a unix socket.

    The socket is the path of one that listens, or the descriptor of one that is connected.
    """
    properties = {"driver": "virtio-net-pci", "netdev": ident, "mac": mac, **properties}
    address = f"addr.type=fd,addr.str={socket}" if isinstance(socket, int) else \
        f"addr.type=unix,addr.path={socket}"
    return ["-netdev", f"stream,id={ident},server=off,{address}",
            "-device", _argument(properties)]


def root_port(ident, address):
    """A port that devices can be plugged into while the guest runs.

    Its window must hold a page for each of QEMU's 1024 virtqueues, and more.
    """
    return ["-device", f"pcie-root-port,id={ident},chassis=1,slot=1,pref64-reserve=16M,"
            f"addr={address}"]

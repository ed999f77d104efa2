# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""NVMe over RDMA: one guest has a namespace, another one connects to it."""

from .programs import meet

NQN = "lab"
DEVICE = "/dev/nvme0n1"
_PORT = 4420

_TARGET = f"""
set -e
modprobe null_blk
modprobe nvmet-rdma PARAMETERS
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
cd /sys/kernel/config
mkdir nullb/lab
echo SIZE > nullb/lab/size
echo 4096 > nullb/lab/blocksize
echo 1 > nullb/lab/memory_backed
echo 1 > nullb/lab/power
cd nvmet
mkdir subsystems/{NQN} subsystems/{NQN}/namespaces/1 ports/1
echo 1 > subsystems/{NQN}/attr_allow_any_host
echo /dev/lab > subsystems/{NQN}/namespaces/1/device_path
echo 1 > subsystems/{NQN}/namespaces/1/enable
echo rdma > ports/1/addr_trtype
echo ipv4 > ports/1/addr_adrfam
echo ADDRESS > ports/1/addr_traddr
echo {_PORT} > ports/1/addr_trsvcid
ln -s $PWD/subsystems/{NQN} ports/1/subsystems/{NQN}
"""

_TARGET_END = f"""
cd /sys/kernel/config/nvmet
rm -f ports/1/subsystems/{NQN}
rmdir ports/1 subsystems/{NQN}/namespaces/1 subsystems/{NQN}
rmdir ../nullb/lab
modprobe -r nvmet-rdma null_blk
"""


def target_start(guest, size=512, parameters="", address=None):
    """Makes a subsystem whose namespace has that many megabytes of memory.

    address   it listens there; at the guest's if not given
    """
    guest.run(_TARGET.replace("ADDRESS", address or guest.address).replace("SIZE", str(size))
              .replace("PARAMETERS", parameters))


_LISTEN_AGAIN = f"""
cd /sys/kernel/config/nvmet
rm -f ports/1/subsystems/{NQN}
ln -s $PWD/subsystems/{NQN} ports/1/subsystems/{NQN}
"""


def target_listen_again(guest):
    """After its RDMA device was removed: nvmet does not do so by itself."""
    guest.run(_LISTEN_AGAIN)


def target_keep_listening(guest):
    """The same if it is needed; while the device is away it may fail, and is to be called again."""
    guest.run(f"rdma resource show cm_id | grep -q 'LISTEN.*:{_PORT}' || {{ {_LISTEN_AGAIN} }}",
              check=False)


def target_end(guest):
    """Removes the subsystem."""
    guest.run(_TARGET_END)


def connect_command(target, *arguments):
    """The command that connects."""
    return ["nvme", "connect", "-t", "rdma", "-a", target.address, "-s", str(_PORT),
            "-n", NQN, *arguments]


def connect(guest, target, *arguments):
    """Connects, and waits for the block device."""
    meet(guest, target.address)
    guest.run(connect_command(target, *arguments))
    guest.wait_until(f"[ -b {DEVICE} ]")


def disconnect(guest):
    """Disconnects; the block device is gone."""
    guest.run(["nvme", "disconnect", "-n", NQN])
    guest.wait_until(f"[ ! -e {DEVICE} ]")

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The machine that guests run on, without what makes one differ from another."""

from . import paths
from .devices import root_port

# udev would load these for this machine, and no test needs them: they would take a
# third of the time to boot.
IDLE_MODULES = (
    "kvm_amd,kvm_intel,aesni_intel,ghash_clmulni_intel,sha1_ssse3,sha256_ssse3,"
    "sha512_ssse3,crct10dif_pclmul,crc32_pclmul,iTCO_wdt,lpc_ich,pcspkr,evdev,button,"
    "qemu_fw_cfg"
)

# One virtual CPU, and the possibility of a second.  If there can be only one, TCG
# translates instructions with a lock prefix, which programs use as full barriers,
# into plain loads and stores.  But the daemon is a second processor to the guest, and
# without the barriers wake-ups between the two get lost.
#
# The debug kernel has two, so that programs, interrupts and work items race, and
# lockdep and KASAN see it.
PROCESSORS = "2" if paths.DEBUG else "1,maxcpus=2"


MEMORY = "1G"

# The kernel's watchdogs take a machine of some gigahertz for granted.  With init_on_alloc,
# which Debian has, one call clears a page of 1 GiB, and TCG on a busy machine needs half a
# minute for that.  60 is the greatest value of the first: it reports after 120 s.
WATCHDOGS = ("watchdog_thresh=60", "rcupdate.rcu_cpu_stall_timeout=120",
             "workqueue.watchdog_thresh=120")


def arguments(disk, memory, descriptor, share, processors=None):
    """QEMU arguments: memory, disk, share, the agent's port, and one for a plugged device.

    The memory is a file (frozen.py) that QEMU inherits.

    The places of the devices are given.  Those that a test adds get others, so that a
    frozen guest finds everything where it was.
    """
    return [
        "-smp", processors or PROCESSORS, "-m", memory,
        # A vhost-user device needs guest memory that can be shared.
        "-object", f"memory-backend-file,id=mem,size={memory},share=on,"
                   f"mem-path=/proc/self/fd/{descriptor}",
        # A guest that is frozen or goes on from there leaves the memory to frozen.py.
        "-global", "migration.x-ignore-shared=on",
        "-machine", "q35,memory-backend=mem,sata=off,smbus=off,i8042=off,usb=off",
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-drive", f"file={disk},format=raw,if=none,id=disk,snapshot=on",
        "-device", "virtio-blk-pci,drive=disk,addr=0x1",
        "-device", "virtio-serial-pci,id=ports,addr=0x2",
        "-device", "virtserialport,bus=ports.0,nr=1,chardev=agent,name=lab.agent",
        "-fsdev", f"local,id=share,path={share},security_model=none",
        "-device", "virtio-9p-pci,fsdev=share,mount_tag=share,addr=0x3",
        *root_port("port0", "0x4"),
    ]


def kernel_arguments(kernel, initrd, append):
    """QEMU arguments of one that boots; append is a list."""
    line = ["console=ttyS0", "root=/dev/vda", "mitigations=off", "quiet",
            # After a panic QEMU ends instead of hanging.
            "panic=-1", *(["slub_debug=-"] if paths.DEBUG else []),
            # The whole log must fit: it is read only now and then.
            "log_buf_len=4M", *WATCHDOGS, f"modprobe.blacklist={IDLE_MODULES}", *append]
    return ["-kernel", str(kernel), "-initrd", str(initrd), "-append", " ".join(line)]

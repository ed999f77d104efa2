# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""fio's engine for RDMA; NFS and iSCSI over RDMA."""

import contextlib
import json
import time

import pytest

from lab import nfs, nvme, programs

FIO_PORT = 18600


def fio(apps, verb, size):
    """So many bytes, each operation counted."""
    before = programs.counters(apps.a)[f"rdma_{verb}s"]
    common = (f"exec fio --name=x --ioengine=rdma --port={FIO_PORT} --bs=64k --size={size}"
              " --iodepth=8")
    with apps.traffic(size=size):
        apps.both(f"{common} --rw=read",
                  f"{common} --rw=write --hostname={apps.b.address} --verb={verb}")
    assert programs.counters(apps.a)[f"rdma_{verb}s"] - before == size // 65536


@pytest.mark.long
@pytest.mark.parametrize("verb", ["write", "read"])
def test_fio(apps, verb):
    """64 MiB.  Nothing compares them: see test_fio_verifies.

    Sends are left out: fio sends before its other end may be ready.
    """
    fio(apps, verb, 64 << 20)


@pytest.mark.long
def test_fio_sends(apps):
    """It is as troubleshooting.rst says: fio accepts with a retry count of 0, and gives up at once.

    The server offers one receive request, and the client sends eight messages.
    """
    common = f"exec fio --name=x --ioengine=rdma --port={FIO_PORT} --bs=64k --size=64m"
    server = apps.b.popen(f"{common} --rw=read --iodepth=1")
    apps.b.wait_listening_cm()
    client = apps.a.popen(f"{common} --rw=write --iodepth=8 --hostname={apps.b.address}"
                          " --verb=send 2>&1")
    client.wait_output(r"cq completion status 13\(RNR retry counter exceeded\)")
    for end in (client, server):
        end.kill()
        end.wait(20)


@contextlib.contextmanager
def nvme_disk(apps):
    """Guest a has a disk of guest b's, of 128 MiB of memory: nvme.DEVICE, and /dev/lab there."""
    nvme.target_start(apps.b, 128)
    try:
        apps.a.run("modprobe nvme-rdma")
        nvme.connect(apps.a, apps.b)
        try:
            yield
        finally:
            nvme.disconnect(apps.a)
    finally:
        nvme.target_end(apps.b)


def fio_verifies(apps):
    """64 MiB are written in random order, each block with a checksum, and read and compared."""
    with apps.traffic(size=128 << 20):
        said = apps.a.run(["fio", "--name=x", "--ioengine=libaio", "--direct=1", "--rw=randwrite",
                           "--bs=16k", "--size=64m", "--iodepth=8", "--verify=crc32c",
                           "--do_verify=1", "--verify_fatal=1", "--output-format=json",
                           f"--filename={nvme.DEVICE}"], timeout=120).stdout
    job, = json.loads(said)["jobs"]
    assert (job["error"], job["write"]["io_bytes"], job["read"]["io_bytes"]) == \
        (0, 64 << 20, 64 << 20), said


@pytest.mark.long
def test_fio_verifies(apps):
    """The same over NVMe."""
    with nvme_disk(apps):
        fio_verifies(apps)


# Megabytes of a file that is written.
NFS_SIZE = 200


@pytest.fixture
def nfs_server(apps):
    """Guest b exports its /srv."""
    with nfs.server(apps.b):
        yield apps.b


@pytest.fixture
def nfs_mount(apps, nfs_server):
    """How guest a mounts that on /mnt, where it is mounted already."""
    with nfs.mounted(apps.a, nfs_server.address) as mount:
        nfs.make_data(apps.a, NFS_SIZE)
        yield mount


@pytest.mark.long
def test_nfs(apps, nfs_mount):
    """200 MB are written, and read back after the client's cache was dropped."""
    with apps.traffic(size=2 * NFS_SIZE << 20):
        apps.a.run("cp /tmp/data /mnt/data && sync", timeout=120)
        nfs.compare(apps.a, apps.b, nfs_mount)


@pytest.mark.long
def test_nfs_server_dies(apps, nfs_server, nfs_mount):
    """In the middle of 200 MB the server ends all connections; the client waits for it."""
    copy = nfs.copy_begins(apps.a, nfs_server)
    nfs_server.run("rpc.nfsd 0")
    assert int(nfs_server.run("stat -c %s /srv/data").stdout) < NFS_SIZE << 20
    time.sleep(3)
    assert copy.poll() is None
    nfs_server.run(nfs.NFSD)
    copy.wait(120, check=True)
    nfs.compare(apps.a, apps.b, nfs_mount)


@pytest.mark.long
def test_nfs_goes_on(apps, nfs_server, nfs_mount):
    """In the middle of 200 MB another daemon takes over, again and again; nobody notices."""
    copy = nfs.copy_begins(apps.a, nfs_server)
    before = len(apps.a.dmesg())
    times = 0
    while copy.poll() is None:
        apps.pair.daemon.take_over()
        times += 1
    copy.wait(120, check=True)
    assert times > 1
    nfs.compare(apps.a, apps.b, nfs_mount)
    log = apps.a.dmesg()[before:]
    assert "nfs:" not in log and "rpcrdma:" not in log, log


@pytest.mark.long
def test_nfs_daemon_is_killed(apps, nfs_server, nfs_mount):
    """In the middle of 200 MB the daemon is killed: server and client find each other again."""
    copy = nfs.copy_begins(apps.a, nfs_server)
    count = "dmesg | grep -c 'virtio_net_roce.*: restarted'"
    before = [int(guest.run(count, check=False).stdout) for guest in apps.pair.guests]
    assert copy.poll() is None
    apps.pair.daemon.kill_kept()
    for guest, number in zip(apps.pair.guests, before):
        guest.wait_until(f"[ $({count}) -gt {number} ]", 60)
        guest.forget()
    copy.wait(300, check=True)
    nfs.compare(apps.a, apps.b, nfs_mount)


ISCSI_PORT = 3260
IQN = "iqn.2026-11.invalid.guest:disk"
TARGET = "/sys/kernel/config/target"
GROUP = f"{TARGET}/iscsi/{IQN}/tpgt_1"


@pytest.fixture
def iser_target(apps):
    """The kernel's target in guest b, for anybody: a file of 256 MB."""
    portal = f"{GROUP}/np/{apps.b.address}:{ISCSI_PORT}"
    apps.b.run(f"""set -e
modprobe -a target_core_mod target_core_file iscsi_target_mod ib_isert
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
truncate -s 256M /tmp/disk
mkdir -p {TARGET}/core/fileio_0/disk {GROUP}
echo fd_dev_name=/tmp/disk,fd_dev_size=268435456,fd_buffered_io=1 \
    > {TARGET}/core/fileio_0/disk/control
echo 1 > {TARGET}/core/fileio_0/disk/enable
mkdir {GROUP}/lun/lun_0 && ln -s {TARGET}/core/fileio_0/disk {GROUP}/lun/lun_0/disk
mkdir {portal} && echo 1 > {portal}/iser
echo 0 > {GROUP}/attrib/authentication
echo 1 > {GROUP}/attrib/generate_node_acls
echo 1 > {GROUP}/attrib/cache_dynamic_acls
echo 0 > {GROUP}/attrib/demo_mode_write_protect
echo 1 > {GROUP}/enable""")
    yield apps.b
    apps.b.run(f"""echo 0 > {GROUP}/enable
rm {GROUP}/lun/lun_0/disk
rmdir {portal} {GROUP}/lun/lun_0 {GROUP} {TARGET}/iscsi/{IQN} {TARGET}/iscsi
rmdir {TARGET}/core/fileio_0/disk {TARGET}/core/fileio_0
rm /tmp/disk""")


@pytest.mark.long
def test_iser(apps, iser_target):
    """open-iscsi: 64 MB are written to the disk and read back, past the page cache."""
    portal = f"{iser_target.address}:{ISCSI_PORT}"
    apps.a.run("modprobe ib_iser && mkdir -p /run/lock/iscsi && iscsid &&"
               f" iscsiadm -m node -o new -T {IQN} -p {portal},1 -I iser &&"
               f" iscsiadm -m node -T {IQN} -p {portal} --login")
    try:
        apps.a.wait_until("test -b /dev/sda")
        with apps.traffic(size=128 << 20):
            apps.a.run("head -c 64M /dev/urandom > /tmp/data &&"
                       " dd if=/tmp/data of=/dev/sda bs=1M oflag=direct &&"
                       " dd if=/dev/sda bs=64k count=1024 iflag=direct | cmp - /tmp/data",
                       timeout=120)
    finally:
        apps.a.run(f"iscsiadm -m node -T {IQN} --logout; iscsiadm -m node -o delete -T {IQN};"
                   " pkill -x iscsid; rm -f /tmp/data")
    apps.a.wait_until("! { rdma resource show pd; rdma resource show qp; } | grep iser")

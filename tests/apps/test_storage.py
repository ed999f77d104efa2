# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""fio's engine for RDMA, and NFS over RDMA."""

import pytest

FIO_PORT = 18600
NFS_PORT = 20049


@pytest.mark.long
@pytest.mark.parametrize("verb", ["write", "read"])
def test_fio(apps, verb):
    """64 MiB.  Sends are left out: fio sends before its other end may be ready."""
    common = (f"exec fio --name=x --ioengine=rdma --port={FIO_PORT} --bs=64k --size=64m"
              " --iodepth=8")
    with apps.traffic(size=64 << 20):
        apps.both(f"{common} --rw=read",
                  f"{common} --rw=write --hostname={apps.b.address} --verb={verb}")


@pytest.fixture
def nfs_server(apps):
    """Guest b exports its /srv, without the daemons that NFS 4 does not need."""
    apps.b.run("mkdir -p /run/rpc_pipefs && mount -t tmpfs srv /srv &&"
               " modprobe -a nfsd rpcrdma && mount -t nfsd nfsd /proc/fs/nfsd &&"
               " mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs &&"
               " echo '/srv *(rw,no_root_squash,insecure,fsid=0)' > /etc/exports &&"
               " nfsdcld && exportfs -ra && rpc.mountd --no-nfs-version 3 &&"
               f" rpc.nfsd --no-nfs-version 3 --rdma={NFS_PORT} 4")
    yield apps.b
    apps.b.run("rpc.nfsd 0; pkill -x rpc.mountd; pkill -x nfsdcld; exportfs -ua;"
               " umount /srv /run/rpc_pipefs /proc/fs/nfsd")


@pytest.mark.long
def test_nfs(apps, nfs_server):
    """100 MB are written, and read back after the client's cache was dropped."""
    mount = f"mount -t nfs4 -o retry=0,rdma,port={NFS_PORT} {nfs_server.address}:/ /mnt"
    apps.a.run(f"modprobe rpcrdma && {mount}", timeout=60)
    try:
        apps.a.run("head -c 100M /dev/urandom > /tmp/data", timeout=120)
        with apps.traffic(100):
            apps.a.run("cp /tmp/data /mnt/data && sync", timeout=120)
        apps.a.run(f"umount /mnt && {mount} && cmp /tmp/data /mnt/data", timeout=120)
        nfs_server.run("test $(stat -c %s /srv/data) = 104857600")
    finally:
        apps.a.run("umount /mnt; rm -f /tmp/data", check=False)

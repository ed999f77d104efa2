# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""NFS over RDMA: one guest exports its /srv, another one mounts it on /mnt.

Both need the disk "apps".
"""

import contextlib

_PORT = 20049

NFSD = f"rpc.nfsd --no-nfs-version 3 --rdma={_PORT} 4"


@contextlib.contextmanager
def server(guest):
    """Exports it, without the daemons that NFS 4 does not need.

    After its restart clients have 10 s, and not 90, to claim what they had.
    """
    guest.run("mkdir -p /run/rpc_pipefs && mount -t tmpfs srv /srv &&"
              " modprobe -a nfsd rpcrdma && mount -t nfsd nfsd /proc/fs/nfsd &&"
              " mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs &&"
              " echo 10 > /proc/fs/nfsd/nfsv4leasetime &&"
              " echo 10 > /proc/fs/nfsd/nfsv4gracetime &&"
              " echo '/srv *(rw,no_root_squash,insecure,fsid=0)' > /etc/exports &&"
              f" nfsdcld && exportfs -ra && rpc.mountd --no-nfs-version 3 && {NFSD}")
    try:
        yield guest
    finally:
        guest.run("rpc.nfsd 0; pkill -x rpc.mountd; pkill -x nfsdcld; exportfs -ua;"
                  " umount /srv /run/rpc_pipefs /proc/fs/nfsd")


@contextlib.contextmanager
def mounted(guest, address):
    """It is mounted; yields the command that does it."""
    mount = f"mount -t nfs4 -o retry=0,rdma,port={_PORT} {address}:/ /mnt"
    guest.run(f"modprobe rpcrdma && {mount}", timeout=60)
    try:
        yield mount
    finally:
        guest.run("umount -f /mnt; rm -f /tmp/data", check=False)


def make_data(guest, megabytes):
    """A file, /tmp/data."""
    guest.run(f"head -c {megabytes}M /dev/urandom > /tmp/data", timeout=120)


def copy_begins(guest, serving):
    """/tmp/data is on its way to the server, of which some has come."""
    copy = guest.popen("cp /tmp/data /mnt/data && sync")
    serving.wait_until("test $(stat -c %s /srv/data || echo 0) -gt 10000000")
    return copy


def compare(guest, serving, mount):
    """The server has what the client wrote, also without the client's cache."""
    guest.run(f"umount /mnt && {mount} && cmp /tmp/data /mnt/data", timeout=120)
    wanted = guest.run("sha256sum < /tmp/data").stdout
    assert serving.run("sha256sum < /srv/data").stdout == wanted

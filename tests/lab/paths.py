# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Where things are; what scripts make is made on demand."""

import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = TOP / "build"

# Logs of this process; each of several (tests/shards.py) has its own directory.
RUN = BUILD / "run" / os.environ.get("LAB_RUN", "")

# The daemon with sanitizers, which report its mistakes.
SANITIZED_DAEMON = BUILD / "device" / "asan" / "vhost-user-roce"

# The daemon of the RFC that ends when a driver breaks a rule (device/tests/strict).
STRICT_DAEMON = BUILD / "device" / "vhost-user-roce-strict"

# The daemon that gives a guest's driver nonsense (device/tests/hostile).
HOSTILE_DAEMON = BUILD / "device" / "vhost-user-roce-hostile"

# The daemon whose saved state is of the next version (device/tests/next).
NEXT_DAEMON = BUILD / "device" / "vhost-user-roce-next"

# Two guests of a daemon that systemd runs (device/tests/service).
SERVICE_GUESTS = BUILD / "device" / "service_guests"

# The kernel that guests boot: "guest", which is Debian's, or "debug".
KERNEL = os.environ.get("LAB_KERNEL", "guest")
DEBUG = KERNEL == "debug"

# Full volumes and all combinations ("make soak") instead of those of "make check".
LONG = "LAB_LONG" in os.environ


def script(name, *arguments):
    """Runs a script of scripts/ and returns the lines of its standard output."""
    command = [str(TOP / "scripts" / name), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


@functools.cache
def _programs():
    return pathlib.Path(script("build/programs.sh")[0])


def program(name):
    """One of tests/guest, built, to be put into a guest."""
    return _programs() / name


def run_directory(name):
    """An empty RUN/<name>."""
    path = RUN / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


@functools.cache
def socket_directory():
    """A directory for sockets: their paths have at most 107 bytes, a checkout's may be longer."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="lab-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.cache
def guest_image(disk="guest"):
    """Kernel, disk and initramfs; the disk "apps" has more programs."""
    return [pathlib.Path(line) for line in script("images/guest-image.sh", KERNEL, disk)]


@functools.cache
def guest_snapshot(disk, memory):
    """The directory of a guest that has booted: its memory and the state of its devices."""
    return pathlib.Path(script("images/guest-snapshot.sh", KERNEL, disk, memory)[0])


@functools.cache
def guest_files():
    """The archive with our modules and provider that a guest installs."""
    return pathlib.Path(script("images/guest-files.sh", KERNEL)[0])

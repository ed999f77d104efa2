# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The commands of README.md and Documentation/ can be typed as they are there.

tests/documents.txt says of each what becomes of it.
"""

import os
import re
import shlex
import subprocess
import sys

import pytest

import lab
from lab import documents, paths
from lab.pingpong import PORT

PLACES = ("host", "guest", "server", "client", "tested", "no")


def scripts(place):
    """The commands of each block that are run in a place, as one script; with the file's name."""
    for file, commands in documents.blocks():
        chosen = [command for command in commands if documents.where(command) == place]
        if chosen:
            yield pytest.param(chosen, id=f"{file}, {chosen[0][:50]}")


def test_each_command_has_a_row():
    """Nothing in the documents is left out; what rows name exists."""
    assert all(place in PLACES for place, _, _ in documents.rows())
    found = [(file, command) for file, commands in documents.blocks() for command in commands]
    assert len(found) > 40
    assert not [each for each in found if documents.where(each[1]) is None]
    for place, pattern, why in documents.rows():
        assert why or place not in ("tested", "no"), pattern
        for name in re.findall(r"tests/\S+\.py", why):
            assert (paths.TOP / name).exists(), name


# Files of Linux, and ours as they are installed, which documents name beside those of the tree.
FOREIGN = {"include/uapi/linux/virtio_net.h", "include/uapi/rdma/virtio_roce-abi.h",
           "drivers/net/virtio_net_roce.c", "linux/vfio.h", "linux/virtio_net_roce.h",
           "infiniband/virtio_rocedv.h"}


def test_named_files_exist():
    """A file of this tree that a document names is there, under that name or the end of one."""
    tree = {f"/{name}" for name in subprocess.run(
        ["git", "-C", str(paths.TOP), "ls-files", "--cached", "--others", "--exclude-standard"],
        check=True, stdout=subprocess.PIPE, text=True).stdout.split()}
    found = 0
    for path in sorted((paths.TOP / "Documentation").glob("*.rst")):
        for name in set(re.findall(r"``([a-z][\w./-]*\.(?:[ch]|py|sh|rst))``",
                                   path.read_text(encoding="utf-8"))) - FOREIGN:
            found += 1
            assert any(file.endswith(f"/{name}") for file in tree), f"{path.name}: {name}"
    assert found > 150


def examples():
    """Commands of the documents that choose tests by name."""
    lines = {line for _, commands in documents.blocks() for line in commands}
    chosen = [line for line in sorted(lines)
              if re.match(r"(KUNIT_FILTER=.* )?scripts/suites/(guest-tests|apps|conformance|"
                          r"fabtests|fuzz|kunit-run)\.\w+ ", line)]
    assert len(chosen) > 5
    return chosen


def chosen_by_pytest(arguments, more=()):
    """How many tests pytest would run, which leaves the report of this run alone."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("LAB_QUEUE", "LAB_REPORT", "LAB_RUN")}
    said = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q",
                           "-p", "no:cacheprovider", *arguments, *more], cwd=paths.TOP,
                          stdout=subprocess.PIPE, text=True, check=False, env=environment).stdout
    return len(re.findall(r"^tests/\S+::", said, re.MULTILINE))


def choice(line):
    """How many tests a command chooses."""
    *variables, script, words = re.fullmatch(r"(?:(\w+=\S+) )?scripts/suites/(\S+) (.*)",
                                             line).groups()
    words = shlex.split(words)
    if script == "guest-tests.sh":
        debug = ["-m", "debug_kernel"] if "--debug" in words else []
        return chosen_by_pytest([word for word in words if word != "--debug"], debug)
    if script == "apps.sh":
        return chosen_by_pytest(words, ["tests/apps"])
    if script == "kunit-run.py":
        suite = shlex.split(variables[0])[0].partition("=")[2].partition(".")[0]
        return sum(f'.name = "{suite}"' in path.read_text(encoding="utf-8")
                   for path in (paths.TOP / "kunit").glob("*.c"))
    if script == "fuzz.sh":
        return len(list(paths.TOP.glob(f"device/tests/fuzz/fuzz_{words[0]}.c")))
    suite = script.removesuffix(".sh")
    required = (paths.TOP / "tests" / suite / "required.txt").read_text(encoding="utf-8")
    return len(re.findall(words[-1], required))


@pytest.mark.parametrize("line", examples())
def test_names_choose_something(line):
    """None that a document names runs nothing, or nearly all."""
    assert 1 <= choice(line) <= 100


@pytest.fixture(name="host", scope="module")
def _host():
    """A daemon in a network namespace of its own, and the sockets that the documents name."""
    daemon = lab.Daemon("documents", guests=1, namespace=":").start()
    daemon.directory.joinpath("a.sock").unlink(missing_ok=True)
    daemon.control("guest", "add", str(daemon.directory / "a.sock"))
    daemon.directory.joinpath("control").symlink_to(daemon.control_socket)
    yield daemon
    daemon.stop()


def assert_serves(line, environment, meanwhile=None):
    """A daemon that says that it serves, and ends well, by itself if another one takes over."""
    with subprocess.Popen(["bash", "-c", f"exec {line}"], stderr=subprocess.PIPE, text=True,
                          env=environment) as process:
        said = ""
        while "num_vqs" not in said:
            part = process.stderr.readline()
            assert part, said
            said += part
        if meanwhile:
            meanwhile()
        else:
            process.terminate()
        said += process.stderr.read()
    assert process.returncode == 0, said


@pytest.mark.parametrize("commands", scripts("host"))
def test_host(host, commands, tmp_path):
    """Each ends well; a daemon serves until it is told to end."""
    environment = {**os.environ, "PATH": f"{paths.BUILD}/device:{os.environ['PATH']}"}
    for command in commands:
        line = command.replace("/var/lib/prometheus/node-exporter", str(tmp_path))
        line = line.replace("/srv/", f"{tmp_path}/")
        line = line.removesuffix(" ...")
        if line.startswith("vhost-user-roce "):
            line = line.replace("/run/roce", str(tmp_path))
            before = re.sub(r" --takeover \S+", "", line)
            if before != line:
                assert_serves(before, environment, lambda: assert_serves(line, environment))
            else:
                assert_serves(line, environment)
            continue
        line = re.sub(r"/run/(roce|vhost-user-roce/lan)\b", str(host.directory), line)
        # The daemon that a guest is to move from and to is one here.
        line = re.sub(r"\b(TARGET|SOURCE)\b", f"{host.directory}/control", line)
        endless = re.search(r" top( --json \d+)?$", line)
        result = subprocess.run(
            ["nsenter", "-t", str(host.pid), "-n", *(["timeout", "1"] if endless else []),
             "bash", "-ec", f"set -o pipefail; {line}"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=30, check=False)
        assert result.returncode == 0 or endless and result.returncode == 124, (line, result.stdout)
        if not re.search(r"^truncate | (link|cut|guest add|guest remove|guest check-move|uplink|reload) |roce\.prom$", line):
            assert result.stdout or endless, line


@pytest.mark.parametrize("commands", scripts("guest"))
def test_guest(rdma_pair, commands):
    """Each ends well, typed one after the other into a shell."""
    guest = rdma_pair.a
    guest.run("mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing;"
              " mountpoint -q /sys/kernel/debug || mount -t debugfs nodev /sys/kernel/debug")
    # A block may go on from where an earlier one went to.
    here = "cd /sys/kernel/tracing\n" if any(" events/" in line for line in commands) else ""
    guest.run(f"set -e\n{here}" + "\n".join(commands))
    guest.run("cd /sys/kernel/tracing && echo 0 > events/enable &&"
              " echo '!hist:keys=name:vals=ns' > events/virtio_roce/vroce_command/trigger;"
              " for i in virtio_roce virtio_net_roce; do"
              " echo module $i -p > /sys/kernel/debug/dynamic_debug/control; done; true")


@pytest.mark.parametrize("commands", scripts("client"))
def test_two_guests(rdma_pair, commands):
    """A server, and its client with the server's address."""
    for guest in rdma_pair.guests:  # tests of other files have added and removed addresses
        print(guest.run("head /sys/class/infiniband/*/ports/1/gids/[0-5]").stdout)
        guest.unload_modules()
        guest.load_modules()
    for client in commands:
        server = rdma_pair.b.popen(client.rsplit(" ", 1)[0])
        rdma_pair.b.wait_listening(PORT)
        said = rdma_pair.a.run(re.sub(r" \S+$", f" {rdma_pair.b.address}", client)).stdout
        assert "1000 iters" in said, said
        server.wait(20, check=True)


def test_demo():
    """Runs what "make demo" runs once the daemon and the modules are built, in small.

    With one repetition, and a twentieth of the messages.
    """
    program = ("import sys, demo; demo.REPEAT = 1;"
               " demo.COUNT = {name: count // 20 for name, count in demo.COUNT.items()};"
               " sys.exit(demo.main())")
    result = subprocess.run(
        ["setpriv", "--pdeathsig", "KILL", sys.executable, "-c", program],
        cwd=paths.TOP / "scripts" / "suites", env={**os.environ, "LAB_RUN": "demo-test"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
    print(result.stdout)
    assert result.returncode == 0, result.stdout
    # The summary, which README.md shows: ours, Soft-RoCE, factor.
    for title, unit in (("ping-pong of 4 KiB, there and back", "us"),
                        ("RDMA WRITE of 64 KiB", "Gbit/s"), ("SEND of 64 bytes", "M/s")):
        assert re.search(rf"^{title} +\S*[1-9]\S* {unit} +\S*[1-9]\S* {unit} +\S*[1-9]\S*x$",
                         result.stdout, re.MULTILINE), result.stdout
    assert result.stdout.count(" iters in ") >= 2, result.stdout

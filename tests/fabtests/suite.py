# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""libfabric's own tests between two guests, as its runfabtests.sh runs them.

The lists of tests and the lists of those that a provider cannot do are read from
libfabric's source.  A test is a server in guest b and a client in guest a.  It passes if
both end with 0, and it is "not run" if both say that the provider lacks what it needs.
The differences from runfabtests.sh: programs have a smaller window (see
scripts/build/programs.sh); the client starts when the server listens, and not
after a second; clients that meet their server by TCP before it listens for RDMA
connections (RACE) are held up there; and those of ofi_rxm wait before they end.
"""

import dataclasses
import re
import shutil

from lab import paths
from lab.patience import crowd

FABTESTS = paths.BUILD / "fabtests"

# Statuses that runfabtests.sh calls "Notrun": the exit status of both is ENODATA or ENOSYS.
LACKING = (61, 38)

# Seconds for one test, as in runfabtests.sh.
TIMEOUT = 120


# The suite's file of tests that each provider cannot do.  Among these are all tests of
# datagrams of "verbs": it wants to have room in front of what is received, and the tests
# offer that for both directions or for none (fi_pingpong has it right).
PROVIDERS = {
    "verbs": "verbs/verbs.exclude",
    "verbs;ofi_rxm": "ofi_rxm/ofi_rxm.exclude",
    "verbs;ofi_rxd": "ofi_rxd/ofi_rxd.exclude",
}

# Lines of ours: messages of 256 KiB are written into the receiver's buffer, and smaller
# ones are copied.
MORE = {"verbs;ofi_rxm": ("fi_rdm_tagged_peek -S 262144", "fi_rdm_tagged_peek -S 262144 -l")}


@dataclasses.dataclass
class Outcome:
    """How a test ended: "passed", "failed" or "not run"; text is what both ends printed."""

    provider: str
    line: str
    result: str
    text: str = ""

    @property
    def name(self):
        """As the lists of tests have it."""
        return f"{self.provider}: {self.line}"


def patterns(provider):
    """Tests that the suite excludes."""
    text = (FABTESTS / "test_configs" / PROVIDERS[provider]).read_text(encoding="ascii")
    found = [line.strip() for line in text.splitlines()]
    return [line for line in found if line and line[0] != "#"]


def lines(provider):
    """The lines of a provider: the suite's functional and short tests, and ours."""
    script = (FABTESTS / "runfabtests.sh").read_text(encoding="utf-8")
    found = []
    for which in ("functional", "short"):
        block = re.search(rf"^{which}_tests=\(\n(.*?)^\)", script, re.M | re.S)[1]
        found += re.findall(r'"([^"]*)"', block)
    excluded = patterns(provider)
    return [*(line for line in found if not any(re.search(each, line) for each in excluded)),
            *MORE.get(provider, ())]


def install(guests):
    """Copies the programs into guests."""
    for guest in guests:
        shutil.copytree(FABTESTS / "bin", guest.share / "fabtests", dirs_exist_ok=True)
        guest.run("cp /mnt/share/fabtests/* /usr/local/bin")


# fi_multi_ep has accepted its client's TCP connection before it begins to listen, and the
# client's connection request may be there first.
RACE = "fi_multi_ep -e msg"
HOLD = ("strace -f --seccomp-bpf -qq -o /dev/null -e trace=connect"
        " -e inject=connect:delay_exit=1s ")

# By the connection manager, or on the port of the test, of libfabric's name server, or of the
# TCP connection of both ends.  A server that cannot do the test ends at once.
LISTENS = """
for ((end = SECONDS + 60; SECONDS < end;)); do
	[ -d /proc/{pid} ] || break
	grep -qE ':(240C|162E|0BB8) [0:]* 0A ' /proc/net/tcp /proc/net/tcp6 && break
	rdma resource show cm_id | grep -q 'state LISTEN' && break
	sleep 0.05
done
"""


def run(a, b, provider, line):
    """Runs one test; returns its outcome."""
    command = f"{line} -p '{provider}'"
    hold = HOLD if RACE in line else ""
    if "ofi_rxm" in provider:
        # A server that finds the end of the connection before the last message loses it
        # (tests/guest/linger.c).  On a busy machine a guest may stand still for seconds.
        hold += (f"env LINGER={round(3 * crowd())}"
                 f" LD_PRELOAD={a.put(paths.program('linger.so'))} ")
    server = b.popen(f"exec timeout {TIMEOUT} {command} -s {b.address} 2>&1")
    b.run(LISTENS.format(pid=server.pid), timeout=90)
    client = a.run(f"exec timeout {TIMEOUT} {hold}{command} -s {a.address} {b.address} 2>&1",
                   check=False, timeout=TIMEOUT + 20)
    if client.rc:
        server.done.wait(2)
        server.kill()
    served = server.wait(TIMEOUT + 20)
    if client.rc == served.rc == 0:
        result = "passed"
    elif client.rc == served.rc and client.rc in LACKING:
        result = "not run"
    else:
        result = "failed"
    return Outcome(provider, line, result,
                   f"server: {served.rc}\n{served.stdout}client: {client.rc}\n{client.stdout}")

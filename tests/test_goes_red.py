# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Assertions about programs of others go red when nothing, or something wrong, is moved.

Most of these programs end with status 0 then.  tests/README.rst has the list.
"""

import pytest

import lab
from lab import paths
from lab.iperf import iperf
from lab.longform import mostly_long
from lab.mckey import GROUP, multicast
from lab.perftest import perftest
from lab.pingpong import pingpong
from lab.programs import cm_program, rping, rping_server, traffic

RED = (AssertionError, lab.GuestError)


class Altered:
    """A guest in which programs are started with other words than the caller thinks."""

    def __init__(self, guest, change):
        self._guest = guest
        self._change = change

    def __getattr__(self, name):
        return getattr(self._guest, name)

    def popen(self, command, **more):
        """The command, changed."""
        return self._guest.popen(self._change(list(command)), **more)


def without(*words):
    """Leaves words out, and what follows an option if that is a word of its own."""
    return lambda command: [word for number, word in enumerate(command)
                            if not {word, *command[max(number - 1, 0):number]} & set(words)]


def test_rping_needs_a_large_server(rdma_pair):
    """A client whose server has 64 bytes moves nothing, though rping says that all is well."""
    with rping_server(Altered(rdma_pair.b, without("-S"))) as address:
        rping(rdma_pair.a, address, 10)
        line = ["rping", "-c", "-a", address, "-C", "10", "-S", "4096", "-V"]
        assert rdma_pair.a.run(line, check=False).rc == 0, "rping has learnt to fail"
        with pytest.raises(RED, match="0 of 10 came"):
            rping(rdma_pair.a, address, 10, 4096)


def test_wrong_bytes(rdma_pair):
    """A ping-pong whose client sends something else: it is the server that compares."""
    other = Altered(rdma_pair.a, lambda command: [word for word in command if word != "-c"])
    pingpong(rdma_pair.b, rdma_pair.a, iterations=10, size=20000, validate=True)
    with pytest.raises(AssertionError, match="invalid data"):
        pingpong(rdma_pair.b, other, iterations=10, size=20000, validate=True)


def test_nothing_is_moved(rdma_pair):
    """Counters stand still while a program uses TCP."""
    with pytest.raises(AssertionError):
        with traffic(rdma_pair.a, packets=1):
            iperf(rdma_pair.b, rdma_pair.a, seconds=1)
    with pytest.raises(AssertionError):
        with traffic(rdma_pair.a, size=10 * 4096 * 2):
            pingpong(rdma_pair.b, rdma_pair.a, iterations=9)


@pytest.mark.long
def test_nothing_comes(rdma_pair):
    """mckey sends to another group: both ends of the group say nothing, and one waits."""
    other = Altered(rdma_pair.b, lambda command: [word.replace(GROUP, "239.1.1.2")
                                                  for word in command])
    with pytest.raises(RED, match="mckey"):
        multicast(other, [rdma_pair.a], timeout=5)
    lab.kill_commands()


def _rping(a, b, _pair):
    with rping_server(b) as address:
        rping(a, address, 1000000)


def _cm(program):
    return lambda a, b, _pair: cm_program(program, b, a, connections=100, messages=500,
                                          size=1000, timeout=20)


def _perftest(program):
    return lambda _a, _b, pair: perftest(pair, program, "-s", 4096, "-n", 5000000, timeout=30)


def _pingpong(program):
    return lambda a, b, _pair: pingpong(b, a, program=program, size=1000, iterations=10000000,
                                        timeout=5)


PROGRAMS = {
    "rping": _rping,
    "udaddy": _cm("udaddy"),
    "ib_write_bw": _perftest("ib_write_bw"),
    "ibv_rc_pingpong": _pingpong("rc"),
}
if paths.LONG:
    PROGRAMS |= {
        "ucmatose": _cm("ucmatose"),
        **{name: _perftest(name) for name in ("ib_send_bw", "ib_read_lat")},
        **{f"ibv_{name}_pingpong": _pingpong(name) for name in ("uc", "ud", "srq")},
        "iperf3": lambda a, b, _pair: iperf(b, a, seconds=10),
    }


@pytest.mark.parametrize("program", mostly_long(PROGRAMS, short=["rping", "ib_write_bw"]))
def test_peer_ends_early(rdma_pair, program):
    """The server is killed as soon as its connection is there."""
    connected = "ss -Htn state established '( sport = :5201 )' | grep -q ." \
        if program == "iperf3" else \
        f"rdma resource show qp | grep 'comm {program[:15]}' | grep -q 'state RT[RS]'"
    killer = rdma_pair.b.popen(f"until {connected}; do :; done; pkill -KILL -x {program[:15]}")
    with pytest.raises(RED) as red:
        PROGRAMS[program](rdma_pair.a, rdma_pair.b, rdma_pair)
    print(f"volume: {program}: {str(red.value).splitlines()[0][:150]}")
    killer.wait(20, check=True)
    lab.kill_commands()

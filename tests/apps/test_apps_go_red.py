# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The tests of applications go red when the other end is killed in the middle.

tests/README.rst has the list.
"""

import pytest

import lab
import test_libfabric
import test_qperf
import test_storage
import test_ucx

pytestmark = pytest.mark.long

RED = (AssertionError, lab.GuestError)

PROGRAMS = {
    "fi_pingpong": lambda apps: test_libfabric.test_pingpong(apps, "msg", test_libfabric.MESSAGES),
    "qperf": lambda apps: test_qperf.test_qperf(apps, ["rc_lat", "rc_bw"]),
    "ucx_perftest": lambda apps: test_ucx.test_perftest(apps, "rc_v", "tag_bw", 65536, 20000),
    "fio": lambda apps: test_storage.test_fio(apps, "write"),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_peer_is_killed(apps, program):
    """As soon as it has a QP."""
    killer = apps.b.popen(f"until rdma resource show qp | grep 'comm {program}'"
                          f" | grep -q 'state RT[RS]'; do :; done; pkill -KILL {program}")
    with pytest.raises(RED) as red:
        PROGRAMS[program](apps)
    print(f"volume: {program}: {str(red.value).splitlines()[0][:150]}")
    killer.wait(20, check=True)
    lab.kill_commands()

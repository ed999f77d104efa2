# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The daemon that gives a guest's driver nonsense (device/tests/hostile)."""

import time

from . import paths
from .daemon import Daemon
from .patience import Deadline

_PAGE = 4096


class HostileDaemon(Daemon):
    """Honest until it gets orders.  The seed is in its log, and with the counts at its end."""

    def __init__(self, name="daemon", *, seed=1, **arguments):
        self.orders_file = paths.socket_directory() / f"{name}.orders"
        self.orders_file.write_bytes(bytes(2 * _PAGE))
        self.seed = seed
        self._serial = 0
        super().__init__(name, binary=paths.HOSTILE_DAEMON,
                         arguments=["--seed", str(seed), "--orders", self.orders_file,
                                    "--namespace", "null=null:1M,guest=*"],
                         **arguments)

    def _read(self):
        with open(self.orders_file, "rb") as file:
            file.seek(_PAGE)
            words = file.read(_PAGE).rstrip(b"\0").decode().split()
        return words if words[-1:] == ["end"] else []

    def order(self, rates):
        """From now on each of these kinds happens so often of a thousand times."""
        self._serial += 1
        text = " ".join([str(self._serial), *(f"{kind}={rate}" for kind, rate in rates.items()),
                         "end"])
        with open(self.orders_file, "r+b") as file:
            file.write(text.encode().ljust(_PAGE, b"\0"))
        deadline = Deadline(10)
        while self._read()[:1] != [str(self._serial)]:
            assert self.alive() and not deadline.over(), self.tail()
            time.sleep(0.01)

    def counts(self):
        """How often what has happened."""
        return {kind: int(count) for kind, count in
                (word.split("=") for word in self._read() if "=" in word)}

# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A TCP connection between a guest and the network namespace of its daemon."""

import subprocess
import time

from .patience import Deadline

PORT = 7777

# One number after the other goes there, comes back and is printed.
CLIENT = """
exec 3<> /dev/tcp/{host}/{port} || exit
for ((n = 1; ; n++)); do
  echo $n >&3 && read -r back <&3 && [ "$back" = $n ] || exit
  echo $n
  sleep 0.1
done
"""


class Talk:
    """One that lives as long as the block.  host is an address of the namespace."""

    def __init__(self, guest, daemon, host):
        self._guest = guest
        self._server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "nsenter", "-t", str(daemon.pid), "-n",
             "socat", f"TCP-LISTEN:{PORT},reuseaddr,fork", "EXEC:cat"],
            stdin=subprocess.DEVNULL, process_group=0)
        self._host = host
        self._client = None

    def __enter__(self):
        # The server needs a moment until it listens.
        deadline = Deadline(10)
        while True:
            self._client = self._guest.popen(CLIENT.format(host=self._host, port=PORT))
            while not self._client.stdout and self._client.poll() is None:
                time.sleep(0.05)
            if self._client.stdout:
                return self
            assert not deadline.over(), self._client.stderr
            time.sleep(0.2)

    def __exit__(self, *_):
        self._client.kill()
        self._server.kill()
        self._server.wait()

    def assert_goes_on(self, timeout=30):
        """Lines sent from now on come back, over the same connection."""
        # One line may be on its way to us.
        wanted = self._client.stdout.count("\n") + 2
        deadline = Deadline(timeout)
        while self._client.stdout.count("\n") < wanted:
            assert self._client.poll() is None, f"the connection ended: {self._client.stderr}"
            assert not deadline.over(), "the connection stands still"
            time.sleep(0.05)

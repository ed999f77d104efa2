# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A client of QEMU's machine protocol."""

import json
import socket


class QmpError(Exception):
    """QEMU refused a command."""


class Qmp:
    """One connection.  Not for several threads at a time."""

    def __init__(self, path, timeout=30):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("r")
        self._read()  # the greeting
        self.command("qmp_capabilities")

    def close(self):
        """QEMU serves one connection at a time."""
        self.file.close()
        self.socket.close()

    def _read(self):
        line = self.file.readline()
        if not line:
            raise QmpError("QEMU closed the connection")
        return json.loads(line)

    def command(self, name, **arguments):
        """Executes a command and returns its answer."""
        self.socket.sendall(json.dumps({"execute": name, "arguments": arguments}).encode())
        while True:
            message = self._read()
            if "error" in message:
                raise QmpError(f"{name}: {message['error']['desc']}")
            if "return" in message:
                return message["return"]
            # Events may come in between; they are ignored.

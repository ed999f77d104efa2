# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A guest that libvirt starts, from the domain that our package has as an example."""

import re
import subprocess
import xml.etree.ElementTree as ET

from . import machine, paths
from .system import System

EXAMPLE = paths.TOP / "packaging" / "host" / "libvirt.xml"
NAMESPACE = "http://libvirt.org/schemas/domain/qemu/1.0"


def command():
    """The line that the example has been made with, and what it should print."""
    text = EXAMPLE.read_text()
    return (re.search(r"vhost-user-roce-ctl .*\n.*", text)[0],
            "".join(re.findall(r"^ +(<qemu:arg .*\n)", text, re.MULTILINE)))


class Domain(System):
    """One that boots the system with our packages.

    libvirt and QEMU see the repository and the cache only, so the socket is in RUN.
    """

    def __init__(self, name, daemon):
        super().__init__(name, "installed", [])
        self.daemon = daemon

    def _document(self):
        """The example with what is different here, and what tests need."""
        tree = ET.parse(EXAMPLE)
        root = tree.getroot()
        root.set("type", "qemu")
        root.find("cpu").set("mode", "maximum")
        root.find("devices/disk/source").set("file", str(self.directory / "disk.qcow2"))
        serial = root.find("devices/serial")
        serial.set("type", "file")
        ET.SubElement(serial, "source", path=str(self.console_log))
        channel = ET.SubElement(root.find("devices"), "channel", type="unix")
        ET.SubElement(channel, "source", mode="bind", path=str(self.agent_socket))
        ET.SubElement(channel, "target", type="virtio", name="lab.agent")
        kernel, _, initrd = self.image()
        texts = machine.kernel_arguments(kernel, initrd, [])[1::2]
        for tag, text in zip(("kernel", "initrd", "cmdline"), texts):
            ET.SubElement(root.find("os"), tag).text = text
        # The daemon of the example has other sizes.
        line = command()[0].replace("/run/vhost-user-roce/lan/control",
                                    str(self.daemon.control_socket))
        arguments = subprocess.run(
            ["sh", "-c", line.replace("a.sock", self.socket.name)], check=True,
            stdout=subprocess.PIPE, text=True,
            env={"PATH": f"{paths.BUILD}/device:/usr/bin:/bin"}).stdout
        root.remove(root.find(f"{{{NAMESPACE}}}commandline"))
        root.append(ET.fromstring(f"<q:commandline xmlns:q='{NAMESPACE}'>"
                                  f"{arguments.replace('qemu:', 'q:')}</q:commandline>"))
        return tree

    def start(self):
        """Has libvirt start it."""
        self.directory = paths.run_directory(self.name)
        self.console_log = self.directory / "console.log"
        self.agent_socket = self.directory / "agent"
        self.socket = self.directory / "roce"
        self.daemon.control("guest", "add", str(self.socket))
        self.socket.chmod(0o666)
        self._document().write(self.directory / "domain.xml")
        self._launch([paths.TOP / "scripts" / "images" / "in-tree", "libvirt",
                      paths.TOP / "scripts" / "images" / "libvirt-domain", self.directory,
                      self.image()[1]])
        return self

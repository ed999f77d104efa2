# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Programs with which a Debian configures its network: a System (system.py) has all of them.

Each is an object with start(system, interface, address), stop(system), and a name.
stop() leaves the interface as if nobody had configured it.
"""


class Networkd:
    """systemd-networkd, which the system starts with; scripts/images/system-disk has its file."""

    name = "systemd-networkd"

    def start(self, system, _interface, _address):
        """Takes care of the network from here on, and configures what is there."""
        system.run("systemctl start systemd-networkd.service")

    def stop(self, system):
        """Lets go of it."""
        system.run("systemctl stop systemd-networkd.socket systemd-networkd.service")


class NetworkManager:
    """NetworkManager with a connection for every wired interface."""

    name = "NetworkManager"
    FILE = "/etc/NetworkManager/system-connections/wired.nmconnection"

    def start(self, system, _interface, address):
        """Takes care of the network from here on, and configures what is there."""
        system.run(f"umask 077; cat > {self.FILE}; systemctl start NetworkManager.service",
                   stdin="[connection]\nid=wired\ntype=ethernet\n"
                         f"[ipv4]\nmethod=manual\naddress1={address}/24\n")

    def stop(self, system):
        """Lets go of it."""
        system.run(f"systemctl stop NetworkManager.service; rm {self.FILE}")


class Ifupdown:
    """ifupdown: udev has the interface configured whenever it comes."""

    name = "ifupdown"
    FILE = "/etc/network/interfaces"

    def start(self, system, interface, address):
        """Takes care of the network from here on, and configures what is there."""
        system.run(f"cat > {self.FILE}; systemctl start ifup@{interface}.service",
                   stdin=f"allow-hotplug {interface}\niface {interface} inet static\n"
                         f"\taddress {address}/24\n")

    def stop(self, system):
        """Lets go of it."""
        system.run(f"systemctl stop 'ifup@*.service'; rm {self.FILE}")


NETWORKS = (Networkd(), NetworkManager(), Ifupdown())

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# victims.sh DEVICE GID-INDEX ADDRESS INTERFACE CONNECT...
#
# Keeps a device that lies busy until it is killed: ping-pongs by polling and by events,
# rping, addresses that come and go, and NVMe, whose disk CONNECT brings back when it is gone.
# A load that fails is started again; one that hangs is killed.

device=$1 gid=$2 address=$3 interface=$4
shift 4
connect=("$@")

# All are in one process group, so that who kills it leaves nobody behind: timeout must not
# make groups of its own.

# begun NAME: a load begins a round; the test counts the lines of each file.
rm -f /tmp/victims.*
begun()
{
	echo >> "/tmp/victims.$1"
}

# again NAME COMMAND...: its server without and its client with the address, over and over.
again()
{
	local name=$1 server

	shift
	while :; do
		begun "$name"
		"$@" & server=$!
		sleep 0.5
		timeout --foreground -s KILL 5 "$@" "$address"
		kill -KILL "$server"
		wait "$server"
	done
}

rping_pair()
{
	local server

	while :; do
		begun rping
		rping -s -a "$address" -C 50 & server=$!
		sleep 0.5
		timeout --foreground -s KILL 5 rping -c -a "$address" -C 50
		kill -KILL "$server"
		wait "$server"
	done
}

addresses()
{
	local number=0

	while :; do
		begun addresses
		number=$((number % 200 + 1))
		ip addr add "10.78.0.$number/32" dev "$interface"
		ip addr del "10.78.0.$number/32" dev "$interface"
		ip link set "$interface" allmulticast on
		ip link set "$interface" allmulticast off
		sleep 0.2
	done
}

disk()
{
	while :; do
		begun disk
		if [ ! -b /dev/nvme0n1 ]; then
			sleep 1
			[ -n "$(ls /sys/class/nvme)" ] || "${connect[@]}"
		fi
		dd if=/dev/zero of=/dev/nvme0n1 bs=64k count=20 oflag=direct conv=nocreat
		dd if=/dev/nvme0n1 of=/dev/null bs=64k count=20 iflag=direct
	done
}

exec > /dev/null 2>&1
again rc ibv_rc_pingpong -d "$device" -g "$gid" -n 5000 -p 18700 &
again ud ibv_ud_pingpong -e -d "$device" -g "$gid" -n 500 -s 512 -p 18701 &
rping_pair &
addresses &
disk &
wait

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# system-image.sh [long|RELEASE]
#
# Takes a Debian 13 with systemd, installs our packages on it by apt, as whoever makes a
# disk image does it, and purges them again; and prints the path of a directory with
#   installed/  what boots with our packages: vmlinuz, disk.img, and initrd, which the
#               system has made for itself; initrd.dracut is dracut's in its place
#   purged/left      files that are different from before the packages were installed
#   purged/initrd.list  what is in the initramfs then
# With "long" the packages are installed again, then the kernel of backports, and then the
# packages are purged again, and there are
#   upgraded/   what boots then
#   purged/     what boots in the end
# With the name of another release (scripts/images/trees.sh) it is that one and its kernel.

. "$(dirname "$0")/../lib.sh"

form=${1-short}
release=
case $form in
short | long) ;;
*) release=$form ;;
esac
"$top/scripts/build/packages.sh" $release
tree=$("$top/scripts/images/trees.sh" "system${release:+-$release}")
packages=$(readlink -f "$build/packages${release:+-$release}")

make_system_image()
{
	local form=$1 tree=$2 packages=$3 out=$4

	step "a system, our packages on it ($form)"
	"$top/scripts/images/in-tree" "$tree" env -u INITRD "$top/scripts/images/system-disk" \
		"$form" "$packages" "$top/scripts/images/guest/agent.py" "$out"
}

cached "system-$form" "$top/scripts/images/system-disk" "$top/scripts/images/guest/agent.py" \
	-- make_system_image "$form" "$tree" "$packages"
echo "$entry"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# guest-snapshot.sh guest|debug guest|apps MEMORY
#
# Boots a guest without devices of a test and freezes it, unless the cache has it, and
# prints the directory of what it became (tests/snapshot.py).  The arguments are the
# kernel and the disk, as of guest-image.sh, and how much memory it has.

. "$(dirname "$0")/../lib.sh"

make_snapshot()
{
	local variant=$1 disk=$2 memory=$3 out=$4

	LAB_KERNEL=$variant LAB_RUN=snapshot-$$ \
		/usr/bin/python3 "$top/tests/snapshot.py" "$disk" "$memory" "$out"
	rm -rf "$build/run/snapshot-$$"
}

image=$("$top/scripts/images/guest-image.sh" "$1" "$2")
cached "guest-snapshot-$1-$2-$3" "$image" "$("$top/scripts/images/trees.sh" qemu)" \
	"$top/scripts/images/qemu" "$top/tests/lab/machine.py" "$top/tests/lab/frozen.py" \
	"$top/tests/snapshot.py" -- make_snapshot "$1" "$2" "$3"
echo "$entry"

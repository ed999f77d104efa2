#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build-programs.sh
#
# Builds the C programs of tests/guest, which run in guests, and prints the
# directory that holds them, build/programs.

. "$(dirname "$0")/lib.sh"

programs=$build/programs
exclusive programs
mkdir -p "$programs"
for source in "$top"/tests/guest/*.c; do
	program=$programs/$(basename "${source%.c}")
	[ "$program" -nt "$source" ] && continue
	step "program for the guests: ${program##*/}"
	"$top/scripts/in-tree" build gcc -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra \
		-Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
		-o "$program" "$source" -libverbs >&2
done
echo "$programs"

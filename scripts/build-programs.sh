#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build-programs.sh [apps]
#
# Builds the C programs of tests/guest, which run in guests, and prints the
# directory that holds them, build/programs.  With "apps" it builds those of
# tests/apps, for each MPI that there is: mpi.c becomes mpi-mpich and mpi-openmpi.

. "$(dirname "$0")/lib.sh"

programs=$build/programs
exclusive programs
mkdir -p "$programs"

# build_program NAME SOURCE TREE COMPILER [LIBRARY...]
build_program()
{
	local program=$programs/$1 source=$2 tree=$3 compiler=$4

	shift 4
	[ ! "$program" -nt "$source" ] || return 0
	step "program for the guests: ${program##*/}"
	"$top/scripts/in-tree" "$tree" "$compiler" -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra \
		-Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
		-o "$program" "$source" "$@" >&2
}

if [ "${1-}" = apps ]; then
	for source in "$top"/tests/apps/*.c; do
		name=$(basename "${source%.c}")
		build_program "$name-mpich" "$source" apps mpicc.mpich
		build_program "$name-openmpi" "$source" apps mpicc.openmpi
	done
else
	for source in "$top"/tests/guest/*.c; do
		build_program "$(basename "${source%.c}")" "$source" build gcc -libverbs
	done
fi
echo "$programs"

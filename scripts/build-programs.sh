#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build-programs.sh [apps]
#
# Builds the C programs of tests/guest, which run in guests, and prints the
# directory that holds them, build/programs.  causes.c becomes a library.  With "apps" it
# builds those of tests/apps, for each MPI that there is: mpi.c becomes mpi-mpich and
# mpi-openmpi; and, with LAB_LONG=1 in the environment, fi_rma_bw of libfabric's tests,
# which Debian does not package.

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

# The sources are of the cache, so what is made lies beside the programs.
build_fi_rma_bw()
{
	local source here=$programs/fabtests

	source=$("$top/scripts/trees.sh" libfabric)
	[ ! "$programs/fi_rma_bw" -nt "$source/fabtests" ] || return 0
	step "program for the guests: fi_rma_bw"
	mkdir -p "$here"
	: > "$here/config.h"
	ln -sfn "$source/include/rdma" "$here/rdma"
	"$top/scripts/in-tree" apps gcc -std=gnu11 -D_GNU_SOURCE -O2 -w \
		-DPACKAGE_VERSION='""' -I"$here" -I"$source/fabtests/include" \
		-o "$programs/fi_rma_bw" "$source"/fabtests/benchmarks/{rma_bw,benchmark_shared}.c \
		"$source"/fabtests/common/{shared,ofi_atomic,hmem,hmem_*}.c \
		-l:libfabric.so.1 -lm >&2
}

if [ "${1-}" = apps ]; then
	[ -z "${LAB_LONG-}" ] || build_fi_rma_bw
	for source in "$top"/tests/apps/*.c; do
		name=$(basename "${source%.c}")
		build_program "$name-mpich" "$source" apps mpicc.mpich
		build_program "$name-openmpi" "$source" apps mpicc.openmpi
	done
else
	for source in "$top"/tests/guest/*.c; do
		name=$(basename "${source%.c}")
		case $name in
		causes) build_program "$name.so" "$source" build gcc -shared -fPIC -libverbs ;;
		*) build_program "$name" "$source" build gcc -libverbs ;;
		esac
	done
fi
echo "$programs"

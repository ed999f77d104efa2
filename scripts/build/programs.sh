#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# build-programs.sh [apps]
#
# Builds the C programs of tests/guest, which run in guests, and prints the
# directory that holds them, build/programs.  Some, to be preloaded, become libraries.
# With "apps" it builds those of tests/apps, for each MPI that there is: mpi.c becomes
# mpi-mpich and mpi-openmpi; and libfabric's tests, which Debian does not package, in
# build/fabtests.

. "$(dirname "$0")/../lib.sh"

programs=$build/programs
exclusive programs
mkdir -p "$programs"

# build_program NAME SOURCE TREE COMPILER [LIBRARY...]
build_program()
{
	local program=$programs/$1 source=$2 tree=$3 compiler=$4

	shift 4
	if [ "$program" -nt "$source" ] &&
		[ -z "$(find "$top/tests/guest" -name '*.h' -newer "$program")" ]; then
		return 0
	fi
	step "program for the guests: ${program##*/}"
	"$top/scripts/images/in-tree" "$tree" "$compiler" -std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra \
		-Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
		-o "$program" "$source" "$@" >&2
}

# All of the kinds "functional" and "benchmarks", against the guests' libfabric.  Their
# window is 4 messages of 8 MiB and not 64: a test would register 1 GiB, most of it for
# nothing.
make_fabtests()
{
	local tree=$1 source=$2 out=$3

	step "libfabric's tests"
	: > "$out/config.h"
	ln -s "$source/include/rdma" "$out/rdma"
	sed 's/\(\.window_size = \)64,/\14,/' "$source/fabtests/include/shared.h" > "$out/shared.h"
	grep -q 'window_size = 4,' "$out/shared.h"
	mkdir "$out/bin"
	# shellcheck disable=SC2016
	"$top/scripts/images/in-tree" "$tree" sh -ec '
		out=$1
		cd "$2/fabtests"
		compile="gcc -std=gnu11 -D_GNU_SOURCE -O1 -w -DPACKAGE_VERSION=\"\" -I$out -Iinclude"
		ls common/shared.c common/ofi_atomic.c common/hmem*.c benchmarks/benchmark_shared.c |
			xargs -P "$(nproc)" -I{} sh -ec "$compile -c {} -o $out/\$(basename {} .c).o"
		ar rcs "$out/libfabtests.a" "$out"/*.o
		ls functional/*.c benchmarks/*.c | grep -v benchmark_shared |
			xargs -P "$(nproc)" -I{} sh -ec "$compile -s {} \
				-o $out/bin/fi_\$(basename {} .c) $out/libfabtests.a \
				-l:libfabric.so.1 -lm -lpthread"
	' sh "$out" "$source"
	rm "$out"/*.o "$out"/*.a "$out"/*.h "$out/rdma"
	cp -r "$source"/fabtests/{scripts/runfabtests.sh,test_configs} "$out"
}

if [ "${1-}" = apps ]; then
	cached fabtests -- make_fabtests "$("$top/scripts/images/trees.sh" apps)" \
		"$("$top/scripts/images/trees.sh" libfabric)"
	for source in "$top"/tests/apps/*.c; do
		name=$(basename "${source%.c}")
		build_program "$name-mpich" "$source" apps mpicc.mpich
		build_program "$name-openmpi" "$source" apps mpicc.openmpi
	done
else
	for source in "$top"/tests/guest/*.c; do
		name=$(basename "${source%.c}")
		case $name in
		async_causes | gently | linger | outlast) build_program "$name.so" "$source" build gcc -shared -fPIC -libverbs ;;
		*) build_program "$name" "$source" build gcc -libverbs ;;
		esac
	done
fi
echo "$programs"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Kernel style: sparse and the compiler's extra warnings for both kernels (the
# KUnit suites are built for one only), checkpatch.pl for every file.  The daemon's
# includes go downwards only, as device/rooms says.

. "$(dirname "$0")/lib.sh"

passed=0
failed=0

# judge NAME LOG STATUS PATTERN: a check passes if it ended well and its output
# has no line of the pattern.
judge()
{
	if [ "$3" -eq 0 ] && ! grep -qiE "$4" "$2"; then
		passed=$((passed + 1))
		echo "ok   $1"
	else
		failed=$((failed + 1))
		echo "FAIL $1"
		sed 's/^/    /' "$2"
	fi
}

log=$build/lint.log
mkdir -p "$build"
for kernel in guest plain; do
	rc=0
	"$top/scripts/build-modules.sh" --lint "$kernel" C=2 CF=-Wsparse-error \
		> "$log" 2>&1 || rc=$?
	judge "sparse ($kernel kernel)" "$log" "$rc" 'warning:|error:'
	rc=0
	"$top/scripts/build-modules.sh" --lint "$kernel" W=1 > "$log" 2>&1 || rc=$?
	judge "W=1 ($kernel kernel)" "$log" "$rc" 'warning:|error:'
done

# checkpatch ARGUMENT...: of the files whose names come in, each ended by NUL.
checkpatch()
{
	xargs -0 "$top/scripts/in-tree" build /usr/src/checkpatch/checkpatch.pl \
		--no-tree --strict --quiet --show-types "$@" -f
}

step "checkpatch.pl"
cd "$top"
rc=0
{
	find Kbuild drivers include uapi kunit -type f ! -name '*_compat.h' -print0 |
		sort -z | checkpatch || rc=$?
	# Telling kernels apart is what these headers are for.
	find include -name '*_compat.h' -print0 |
		checkpatch --ignore LINUX_VERSION_CODE,CONSTANT_COMPARISON || rc=$?
} > "$log" 2>&1
judge "checkpatch.pl" "$log" "$rc" '^(ERROR|WARNING|CHECK):'

step "Rooms of the daemon"
rc=0
"$top/scripts/check-rooms.py" > "$log" 2>&1 || rc=$?
judge "device/rooms" "$log" "$rc" 'error:'
rc=0
"$top/scripts/check-rooms.py" --self-test > "$log" 2>&1 || rc=$?
judge "check-rooms.py finds what is wrong" "$log" "$rc" 'error:'

record lint "$passed" "$failed"

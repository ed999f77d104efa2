#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Everything: installs packages, builds, runs each suite whatever became of the
# one before, and ends with one line that sums up.  A suite that left no counts
# is a failure.

. "$(dirname "$0")/lib.sh"

rm -rf "$build/results"

"$top/scripts/install-packages.sh"

if make -C "$top" all; then
	record build 1 0
else
	record build 0 1 || true
fi

# Unless the cache has them, the two kernels of the last suites are a quarter of
# an hour's work: done beside the other suites, which wait a third of their time,
# with what these leave of the processors.  A session of its own can be ended as
# a whole, and where sessions share the processors evenly it can say that it wants
# little.
setsid sh -c '
	echo 19 > /proc/self/autogroup
	chrt --idle --pid 0 $$
	"$1" debug
	"$1" plain' sh "$top/scripts/kunit-kernel.sh" > "$build/kernels.log" 2>&1 &
kernels=$!
trap 'kill -- "-$kernels" 2> /dev/null || true; at_exit' EXIT

for target in unit fuzz-short fresh-build-test guest-tests conformance lint kunit \
	check-debug; do
	make -C "$top" "$target" || true
done

step_end
passed=0
failed=0
for suite in build unit fuzz fresh-build guest-tests conformance lint kunit \
	kunit-debug guest-debug; do
	if read -r good bad < "$build/results/$suite"; then
		printf '%-12s %4d passed, %d failed\n' "$suite" "$good" "$bad"
	else
		good=0
		bad=1
		printf '%-12s did not run\n' "$suite"
	fi 2> /dev/null
	passed=$((passed + good))
	failed=$((failed + bad))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

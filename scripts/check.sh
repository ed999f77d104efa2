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
for target in lint unit fuzz-short kunit fresh-build-test guest-tests conformance \
	check-debug; do
	make -C "$top" "$target" || true
done

step_end
passed=0
failed=0
for suite in build lint unit fuzz kunit fresh-build guest-tests conformance \
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

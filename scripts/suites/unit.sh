#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The unit tests of the daemon and of the provider.

. "$(dirname "$0")/../lib.sh"

log=$build/unit.log
mkdir -p "$build"
rc=0
# There is one that tries each instruction then.
[ -z "${LAB_LONG:-}" ] || export TEST_TIMEOUT=1800
step "unit tests of the device daemon"
make -s -j"$(nproc)" --no-print-directory -C "$top/device" O="$build/device" check 2>&1 | tee "$log" || rc=1
step_end
if [ -n "${LAB_LONG:-}" ]; then
	step "those that take minutes, saved and loaded between the steps"
	make -s --no-print-directory -C "$top/device" O="$build/device" check-state-long 2>&1 |
		tee -a "$log" || rc=1
	step_end
	same_bytes=SAME_BYTES="0 76 249"
fi
step "those with random numbers, which are all the same"
make -s --no-print-directory -C "$top/device" O="$build/device" check-same \
	${same_bytes:+"$same_bytes"} 2>&1 | tee -a "$log" || rc=1
step_end
step "those with threads, under ThreadSanitizer"
make -s -j"$(nproc)" --no-print-directory -C "$top/device" O="$build/device" check-tsan 2>&1 | tee -a "$log" || rc=1
step_end
"$top/scripts/build/provider.sh" --test 2>&1 | tee -a "$log" || rc=1
# The bench takes too long to run here; it is built, so that it goes on to compile.
"$top/scripts/suites/bench.sh" --build 2>&1 | tee -a "$log" || rc=1

# The sum of what cmocka reports for all test programs.  A test that began and did not
# end has crashed, which cmocka cannot report; it counts as failed.  cmocka names a skipped
# test twice: where it ran, and in a list at the end.
begun=$(grep -c '^\[ RUN      \]' "$log" || true)
passed=$(grep -c '^\[       OK \]' "$log" || true)
skipped=$(sed -n 's/^\[  SKIPPED \] \(.* \)\?\([0-9]*\) test(s).*/\2/p' "$log" |
	awk '{ n += $1 } END { print n + 0 }')
sed -n 's/^\[  SKIPPED \] \([A-Za-z0-9_]*\)$/SKIP \1/p' "$log" | sort -u | tee -a "$log"
failed=$((begun - passed - skipped))
[ "$failed" -gt 0 ] || [ "$rc" -eq 0 ] || failed=1
[ "$begun" -gt 0 ] || failed=1
failed=$((failed + $(count_unexpected unit "$log" "$skipped")))
record unit "$passed" "$failed" "$skipped"

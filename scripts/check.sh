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

# aside LOG COMMAND...: beside the rest.  In a session of its own, so that it can be
# ended as a whole.
aside=()
aside()
{
	local log=$1

	shift
	setsid "$@" > "$log" 2>&1 &
	aside+=($!)
}

end_aside()
{
	local session

	for session in "${aside[@]}"; do
		kill -- "-$session" 2> /dev/null || true
	done
}
trap 'end_aside; at_exit' EXIT

suites()
{
	local target

	for target; do
		make -C "$top" "$target" || true
	done
}

# Unless the cache has it, what the last suites need is more than a quarter of an
# hour's work: done beside the first ones, which wait a third of their time, with
# what these leave of the processors.  Where sessions share the processors evenly
# this one says that it wants little.
aside "$build/kernels.log" sh -c '
	echo 19 > /proc/self/autogroup
	chrt --idle --pid 0 $$
	"$1/guest-image.sh" guest apps
	"$1/kunit-kernel.sh" debug
	"$1/trees.sh" fresh
	"$1/kunit-kernel.sh" plain' sh "$top/scripts"

suites unit guest-tests conformance apps-short check-debug fresh-build-test
# Neither of these two minds the other.
aside "$build/fuzz-short.log" make -C "$top" fuzz-short
fuzz=$!
suites lint
wait "$fuzz" || true
cat "$build/fuzz-short.log"
suites kunit

step_end
passed=0
failed=0
for suite in build unit guest-tests conformance apps kunit-debug guest-debug fresh-build \
	lint fuzz kunit; do
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

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# check.sh [fast|soak]
#
# Installs packages, builds, runs the suites, each of them also if another one failed,
# and ends with one line of counts, "N passed, N failed, N skipped".  A suite that left no
# counts is a failure.  The lines before name what was skipped and what failed.
#   (none)  all suites
#   fast    what finds most in a few minutes: lint, unit, KUnit, the first guest tests
#   soak    the guest tests in full volume on both kernels, the unit tests with more rounds,
#           rdma-core's tests on the kernels of Debian 12 and the next one, the provider in
#           each version of rdma-core, RPM packages, the patches of "make upstream", and ten
#           million inputs of each fuzzer
#
# Suites run in four lanes side by side, because guests leave a third of the processors
# idle.  The first and the second have guests and what measures time, the third the unit
# tests; the last one gets the processor time that these leave, and is as the others once
# the third is done, but for the time in which tests of the first must be alone.  With an
# empty cache one more makes what the others will wait for, in the order in which they do.
# The output of all but the first is in build/check-LANE.log, and is shown at the end.
# They end with this script, however that ends.

. "$(dirname "$0")/../lib.sh"

# The make targets of each lane, and the names under which they leave their counts.
third=(unit)
case ${1-} in
'')
	first=(guest-tests)
	second=(conformance apps-short kunit-debug guest-debug)
	idle=(lint counts fresh-build-test install-test fuzz-short)
	suites=(build guest-tests unit conformance apps kunit-debug guest-debug lint counts
		fresh-build install fuzz)
	;;
fast)
	first=(guest-fast)
	second=(kunit-debug)
	idle=(lint)
	suites=(build guest-fast unit kunit-debug lint)
	;;
soak)
	export LAB_LONG=1
	first=(guest-tests)
	second=(apps fabtests guest-debug conformance-bookworm conformance-forky)
	idle=(provider-versions rpms upstream-check fused-long fuzz)
	suites=(build guest-tests unit apps fabtests guest-debug conformance-bookworm
		conformance-forky provider-versions rpm upstream fused fuzz)
	;;
*)
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac

rm -rf "$build/results"
forget_half_made

"$top/scripts/build/install-packages.sh"

# All lanes use what is made here, so it is made before they start.
began=$SECONDS
if make -C "$top" all device-variants; then
	record build 1 0 0 $((SECONDS - began))
else
	record build 0 1 0 $((SECONDS - began)) || true
fi

trap 'end_aside; rm -f "$LAB_BESIDE".*; at_exit' EXIT

# A file of this name and an ending exists as long as the second lane, the third, or the one
# that fills the cache, runs (tests/shards.py).
export LAB_BESIDE=$build/.beside
touch "$LAB_BESIDE".second "$LAB_BESIDE".third "$LAB_BESIDE".cache

# The lowest priority, also where the kernel shares the processors between sessions; what
# others wait for is made with the ordinary one (lib.sh).
# shellcheck disable=SC2016
gently='export LAB_GENTLY=1; echo 19 > /proc/self/autogroup; chrt --idle --pid 0 $$;'

# With an empty cache this takes more than a quarter of an hour.  A suite that needs an
# entry waits for it.  The debug kernel takes longest, and only the processors; the trees
# take the disk and the network as well.  Not gently: what is made has the ordinary priority
# anyway, and to see that it is there would take minutes while the machine does something else.
# shellcheck disable=SC2016
aside sh -c '
	"$1/trees.sh" build
	"$1/kunit-kernel.sh" debug &
	"$1/guest-image.sh" guest apps
	"$1/system-image.sh" ${LAB_LONG:+long}
	"$1/trees.sh" newest
	"$1/trees.sh" fresh
	wait
	rm -f "$LAB_BESIDE".cache' sh "$top/scripts/images" > "$build/kernels.log" 2>&1

# shellcheck disable=SC2016
each_target='top=$1; shift; for target; do make -C "$top" "$target"; done'

# beside LANE TARGET...: a lane for which tests that must be alone wait.
beside()
{
	# shellcheck disable=SC2016
	aside sh -c 'lane=$1; shift;'"$each_target"'; rm -f "$LAB_BESIDE.$lane"' \
		sh "$1" "$top" "${@:2}" > "$build/check-$1.log" 2>&1
}

beside second "${second[@]}"
second_lane=${aside[-1]}
beside third "${third[@]}"
third_lane=${aside[-1]}
aside sh -c "$gently$each_target" sh "$top" "${idle[@]}" > "$build/check-idle.log" 2>&1
idle_lane=${aside[-1]}
aside sh -c "$each_target" sh "$top" "${first[@]}"
first_lane=${aside[-1]}

# idle_nice N: the niceness of the last lane.
idle_nice()
{
	{ echo "$1" > "/proc/$idle_lane/autogroup"; } 2> /dev/null || true
}

# Beside another program that takes all it can get, the last lane would stand still to the end.
# So it gives way until the unit tests have ended, and to the tests that must be alone, which
# begin when the second and the third lane have ended.
wait "$third_lane" || true
idle_nice 0
wait "$second_lane" || true
idle_nice 19
wait "$first_lane" || true
idle_nice 0
chrt --other --pid 0 "$idle_lane" 2> /dev/null || true
wait "$idle_lane" || true
logs=("$build"/check-{second,third,idle}.log)
cat "${logs[@]}"

step_end
passed=0
failed=0
skipped=0
for suite in "${suites[@]}"; do
	if read -r good bad left seconds < "$build/results/$suite"; then
		printf '%-17s %4d passed, %d failed, %3d skipped, %4d s\n' "$suite" "$good" "$bad" \
			"$left" "$seconds"
	else
		good=0
		bad=1
		left=0
		printf '%-17s did not run\n' "$suite"
	fi 2> /dev/null
	passed=$((passed + good))
	failed=$((failed + bad))
	skipped=$((skipped + left))
done
# Those of rdma-core, some two hundred, are in a document, which the suite compares.
for suite in "${suites[@]}"; do
	names=$build/results/.$suite.skips
	[ -s "$names" ] || continue
	case $suite in
	conformance*)
		echo "SKIP $suite: $(wc -l < "$names") tests, which Documentation/conformance.rst names"
		;;
	*)	sed "s/^/SKIP $suite: /" "$names" ;;
	esac
done
# Which ones, where everybody looks.
if [ "$failed" -gt 0 ]; then
	for target in "${first[@]}"; do
		logs+=("$build/$target.log")
	done
	grep -hE '^FAIL |^\[  FAILED  \]|^not ok ' "${logs[@]}" | awk '!seen[$0]++' || true
fi
echo "all of it: $((SECONDS / 60)) min $((SECONDS % 60)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]

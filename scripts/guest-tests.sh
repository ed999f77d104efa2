#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# guest-tests.sh [--debug] [--suite NAME] [--shards N] [PYTEST-ARGUMENT...]
#
# The tests that boot guests, in two processes (tests/shards.py tells more), or with
# arguments in one; NAME is under what they leave their counts.  With --debug guests run the debug kernel, and of the tests those
# that are marked debug_kernel; with LAB_LONG=1 in the environment all but those of the
# wire, where the daemon is what is tested.

. "$(dirname "$0")/lib.sh"

suite=guest-tests
shards=
if [ "${1-}" = --debug ]; then
	shift
	suite=guest-debug
	export LAB_KERNEL=debug
	"$top/scripts/build-modules.sh" debug > /dev/null
fi
if [ "${1-}" = --suite ]; then
	suite=$2
	shift 2
fi
if [ "${1-}" = --shards ]; then
	shards=$2
	shift 2
fi
# Guests on the debug kernel share one pair: another one would take longer to boot
# than it saves.
[ $# -eq 0 ] && [ -z "${LAB_KERNEL-}" ] || : "${shards:=1}"
: "${shards:=2}"
# Those of tests/apps have guests of their own, and scripts/apps.sh.
[ $# -gt 0 ] || set -- tests --ignore tests/apps
if [ "${LAB_KERNEL-}" = debug ]; then
	if [ -z "${LAB_LONG-}" ]; then
		set -- -m debug_kernel "$@"
	else
		for file in ethernet interop lossy packets uplink; do
			set -- --ignore "tests/test_$file.py" "$@"
		done
	fi
fi

# Some tests want a daemon that reports the least misstep of its own, or of a driver.
make -s --no-print-directory -C "$top" device-variants

step "guest tests${LAB_KERNEL:+ ($LAB_KERNEL kernel)}"
cd "$top"
run_counted "$suite" /usr/bin/python3 tests/shards.py "$suite" "$shards" \
	-v --tb=short -p no:cacheprovider "$@"

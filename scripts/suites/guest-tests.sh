#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# guest-tests.sh [--debug] [--suite NAME] [--shards N] [PYTEST-ARGUMENT...]
#
# Runs the tests that boot guests: all of them in two processes (see tests/shards.py), or
# those that the arguments select in one process.  The counts are recorded under NAME.
# Without arguments those marked long run with LAB_LONG=1 in the environment only.
# With --debug the guests run the debug kernel, and only the tests marked debug_kernel
# run; with LAB_LONG=1 in the environment all run but those of the wire, which test the
# daemon.

. "$(dirname "$0")/../lib.sh"

suite=guest-tests
shards=
if [ "${1-}" = --debug ]; then
	shift
	suite=guest-debug
	export LAB_KERNEL=debug
	"$top/scripts/build/modules.sh" debug > /dev/null
fi
if [ "${1-}" = --suite ]; then
	suite=$2
	shift 2
fi
if [ "${1-}" = --shards ]; then
	shards=$2
	shift 2
fi
# On the debug kernel all tests use one pair of guests: to start a second pair takes
# longer than two processes save.
[ $# -eq 0 ] && [ -z "${LAB_KERNEL-}" ] || : "${shards:=1}"
: "${shards:=2}"
# scripts/suites/apps.sh runs tests/apps, which have their own guests.
if [ $# -eq 0 ]; then
	set -- tests --ignore tests/apps
	[ -n "${LAB_LONG-}${LAB_KERNEL-}" ] || set -- -m "not long" "$@"
fi
if [ "${LAB_KERNEL-}" = debug ]; then
	if [ -z "${LAB_LONG-}" ]; then
		set -- -m debug_kernel "$@"
	else
		for file in ethernet interop lossy migration packets uplink; do
			set -- --ignore "tests/test_$file.py" "$@"
		done
	fi
fi

# Some tests use a daemon with sanitizers, or one that reports each fault of a driver.
make -s --no-print-directory -C "$top" device-variants

step "guest tests${LAB_KERNEL:+ ($LAB_KERNEL kernel)}"
cd "$top"
run_counted "$suite" /usr/bin/python3 tests/shards.py "$suite" "$shards" \
	-v --tb=short -p no:cacheprovider "$@"

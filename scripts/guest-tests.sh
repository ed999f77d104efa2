#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# guest-tests.sh [--debug] [PYTEST-ARGUMENT...]
#
# The tests that boot guests.  With --debug guests run the debug kernel, and
# of the tests those that are marked debug_kernel; with LAB_LONG=1 in the
# environment all but those of the wire, where the daemon is what is tested.

. "$(dirname "$0")/lib.sh"

suite=guest-tests
if [ "${1-}" = --debug ]; then
	shift
	suite=guest-debug
	export LAB_KERNEL=debug
	"$top/scripts/build-modules.sh" debug > /dev/null
	[ $# -gt 0 ] || set -- tests
	if [ -z "${LAB_LONG-}" ]; then
		set -- -m debug_kernel "$@"
	else
		for file in ethernet interop lossy packets uplink; do
			set -- --ignore "tests/test_$file.py" "$@"
		done
	fi
fi

[ $# -gt 0 ] || set -- tests

# Some tests want a daemon that reports the least misstep of its own.
make -s --no-print-directory -C "$top/device" O="$build/device" \
	"$build/device/asan/vhost-user-roce"

step "guest tests${LAB_KERNEL:+ ($LAB_KERNEL kernel)}"
cd "$top"
run_counted "$suite" /usr/bin/python3 -m pytest -v --tb=short --durations=10 \
	-p no:cacheprovider "$@"

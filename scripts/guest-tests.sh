#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# guest-tests.sh [PYTEST-ARGUMENT...]
#
# The tests that boot guests.

. "$(dirname "$0")/lib.sh"

# Some tests want a daemon that reports the least misstep of its own.
make -s --no-print-directory -C "$top/device" O="$build/device" \
	"$build/device/asan/vhost-user-roce"

step "guest tests"
cd "$top"
run_counted guest-tests /usr/bin/python3 -m pytest -v --tb=short --durations=10 \
	-p no:cacheprovider "${@:-tests}"

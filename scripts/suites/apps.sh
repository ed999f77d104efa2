#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# apps.sh [PYTEST-ARGUMENT...]
#
# Runs programs as Debian packages them between two guests (tests/apps): the short form,
# or all of them with LAB_LONG=1 in the environment.  It does not build the device; "make
# apps" does.

. "$(dirname "$0")/../lib.sh"

[ -n "${LAB_LONG-}" ] || set -- -m "not long" "$@"

"$top/scripts/images/guest-image.sh" guest apps > /dev/null
"$top/scripts/build/programs.sh" apps > /dev/null

step "applications"
cd "$top"
rc=0
run_counted apps /usr/bin/python3 tests/shards.py apps 1 \
	-v --tb=short -p no:cacheprovider tests/apps "$@" || rc=$?
sed 's/\([0-9]*\) \([0-9]*\) \([0-9]*\).*/\1 passed, \2 failed, \3 skipped/' "$build/results/apps"
exit "$rc"

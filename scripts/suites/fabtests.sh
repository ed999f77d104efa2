#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# fabtests.sh [--update] [PATTERN]
#
# libfabric's own tests between two guests (see tests/fabtests/run.py).  It does not build
# the device; "make fabtests" does.
#   --update   with Soft-RoCE as well, and writes both results into Documentation/libfabric.rst
#   PATTERN    only tests whose name this regular expression finds

. "$(dirname "$0")/../lib.sh"

"$top/scripts/images/guest-image.sh" guest apps > /dev/null
"$top/scripts/build/programs.sh" apps > /dev/null

step "libfabric's own tests"
run_counted fabtests /usr/bin/python3 "$top/tests/fabtests/run.py" "$@"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# conformance.sh [--update] [MODULE...]
#
# The tests of rdma-core's own source, module by module on our device in a guest
# (see tests/conformance/run.py).  It builds nothing; "make conformance" does.
#   --update  writes the results into Documentation/conformance.rst
#   MODULE    only this module, for example test_qp

. "$(dirname "$0")/lib.sh"

options=()
if [ "${1-}" = --update ]; then
	options=("$1")
	shift
fi
tree=$("$top/scripts/trees.sh" build)

step "rdma-core's own tests"
run_counted conformance /usr/bin/python3 "$top/tests/conformance/run.py" "${options[@]}" \
	"$tree"/usr/src/rdma-core-* "$@"

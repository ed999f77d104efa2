#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# conformance.sh [--release RELEASE] [--update] [MODULE...]
#
# The tests of rdma-core's own source, module by module on our device in a guest
# (see tests/conformance/run.py).  It builds nothing; "make conformance" does.
#   --release  with another release of Debian, its kernel and rdma-core, and our packages
#   --update   writes the results into Documentation/conformance.rst, or that of the release
#   MODULE     only this module, for example test_qp

. "$(dirname "$0")/../lib.sh"

options=()
suite=conformance
if [ "${1-}" = --release ]; then
	options=("$1" "$2")
	suite=conformance-$2
	version=$("$top/scripts/images/in-tree" "$("$top/scripts/images/trees.sh" "system-$2")" \
		dpkg-query -W -f '${Version}' python3-pyverbs)
	# Without sources of its own it has the guests' rdma-core (build-packages.sh).
	source=$(compgen -G "$("$top/scripts/images/trees.sh" rdma-core)/rdma-core_${version%-*}") ||
		source=$(echo "$("$top/scripts/images/trees.sh" build)"/usr/src/rdma-core-*)
	shift 2
else
	source=$(echo "$("$top/scripts/images/trees.sh" build)"/usr/src/rdma-core-*)
fi
if [ "${1-}" = --update ]; then
	options+=("$1")
	shift
fi

step "rdma-core's own tests"
run_counted "$suite" /usr/bin/python3 "$top/tests/conformance/run.py" "${options[@]}" \
	"$source" "$@"

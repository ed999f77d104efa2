#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# fused.sh SCHEDULES
#
# Runs so many random schedules by both ways of a message (device/tests/rdma/qp/test_fused.c),
# as a suite of "make soak".  "make check" has some hundreds of them among the unit tests.

. "$(dirname "$0")/../lib.sh"

log=$build/fused.log
passed=0
failed=0
step "$1 schedules by both ways of a message"
for first in $(seq 1 1000 "$1"); do
	if FUSED_SEED=$first FUSED_SCHEDULES=1000 \
		"$build/device/asan/tests/rdma/qp/test_fused" > "$log" 2>&1; then
		passed=$((passed + 1))
	else
		grep FUSED_SEED "$log" >&2 || tail -n 20 "$log" >&2
		failed=$((failed + 1))
	fi
done
record fused "$passed" "$failed" 0

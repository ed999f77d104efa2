#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# bench.sh
#
# Measures the daemon as shipped, with a front-end of its own in the place of a guest
# (device/tests/bench), and prints JSON, which also stands in build/bench/bench.json:
#   rate_*	messages of 64 bytes in a second on one RC QP, the best of five runs:
#		with virtqueues, with direct rings, and beside so many idle QPs in each
#		of two guests; on 1024 QPs of one process, all busy
#   latency_*	half of a round trip, polled, the median, microseconds; both forms of
#		queues take turns, and the best run of each counts
#   event_us	from a request to the event of the receiver's CQ, likewise
#   *_doorbells_per_1000	of so many messages, those that were rung for
#   create_us	CREATE_QP of a direct QP
#   idle_qp_bytes	what each such QP adds to the daemon's resident memory
#
# It needs two processors that have nothing else to do.

. "$(dirname "$0")/lib.sh"

work=$build/bench
mkdir -p "$work"
make -s -j"$(nproc)" --no-print-directory -C "$top/device" O="$build/device" bench
"$build/device/bench" "$build/device/vhost-user-roce" 2> "$work/bench.log" |
	tee "$work/bench.json"
python3 -m json.tool "$work/bench.json" > /dev/null

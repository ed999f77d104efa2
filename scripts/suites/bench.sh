#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# bench.sh [--build]
#
# Measures the daemon as shipped, with a front-end of its own in the place of a guest
# (device/tests/bench) that posts and polls by the provider's own code.  Prints JSON, which
# also stands in build/bench/bench.json, and draws build/bench/bench.svg:
#   rate_*	messages of 64 bytes in a second on one RC QP: with virtqueues, with direct
#		rings, and beside so many idle QPs in each of two guests; on 1024 QPs of one
#		process, all busy.  The best of many short runs, which take turns
#   latency_*	half of a round trip, polled, the median of a run, microseconds; the best
#		run
#   rate_write_8, rate_read_8	RDMA WRITEs and READs of 8 bytes in a second
#   latency_SIZE_p50_us, _p99_us, _p999_us	the same for messages of SIZE bytes, as so
#		many of them are below it
#   write_SIZE_gbytes	10^9 bytes in a second by RDMA WRITEs of SIZE bytes
#   rate_raw_SIZE	frames of SIZE bytes in a second from a RAW_PACKET QP of one guest to one of
#		another, each way, both ways at once
#   bare_*	what the machine does without us, in the same run: a cache line from one
#		thread to another, two wake-ups in a row by eventfds, memcpy() between
#		the places of write_SIZE
#   rate_packet_SIZE, rate_tap_SIZE	RoCE packets in a second that an uplink writes to an
#		interface, and as bare_* with one call for each (root only)
#   rate_null_read_4096	reads of 4 KiB from a null namespace at a target of the daemon's own
#		(--nvmf-target), in a second of one processor, the guest's own time left out
#   rate_file_read_4096	random reads of a file there, 64 at a time, in a second of all time; and
#		as bare_file_read_4096 by io_uring in one process
#   event_us	from a request to the event of the receiver's CQ, the median
#   *_beside_62_guests	rate_write_8, and latency_*, while so many guests of the daemon do nothing
#   *_doorbells_per_1000	of so many messages, those that were rung for
#   create_us, connect_us, destroy_us	of a direct QP, with as many as there can be;
#		"connect" is all changes of its state
#   idle_qp_bytes	what each such QP adds to the daemon's resident memory
#
# Fails if QPs in direct form are slower than those with virtqueues, if idle ones, or idle
# guests, take a tenth of a busy one's rate, if an idle one takes 8 KiB, or if a stream rings more than 20
# doorbells for 1000 messages.
#
# It needs two processors that have nothing else to do.  With --build it is only built.

. "$(dirname "$0")/../lib.sh"

work=$build/bench
mkdir -p "$work"
"$top/scripts/build/provider.sh"
make -s -j"$(nproc)" --no-print-directory -C "$top/device" O="$build/device" \
	RDMA_CORE="$build/rdma-core/build/include" \
	PROVIDER_FLAGS="$(provider_flags "$build/rdma-core")" bench
[ "${1-}" != --build ] || exit 0
rc=0
"$build/device/bench" "$build/device/vhost-user-roce" > "$work/engine.json" 2> "$work/bench.log" ||
	rc=$?
"$build/device/links" > "$work/links.json" 2>> "$work/bench.log" || echo '{}' > "$work/links.json"
head -c 64M /dev/urandom > "$work/disk"
"$build/device/disk" "$work/disk" > "$work/disk.json" 2>> "$work/bench.log" ||
	echo '{}' > "$work/disk.json"
rm -f "$work/disk"
/usr/bin/python3 -c '
import json, sys
print(json.dumps({k: v for name in sys.argv[1:] for k, v in json.load(open(name)).items()}, indent=2))
' "$work/engine.json" "$work/links.json" "$work/disk.json" > "$work/bench.json"
cat "$work/bench.json"
[ "$rc" -le 1 ] || {
	cat "$work/bench.log" >&2
	exit "$rc"
}
"$top/scripts/suites/bench-plot.py" "$work/bench.json" "$work/bench.svg"
grep '^bench: ' "$work/bench.log" >&2 || true
exit "$rc"

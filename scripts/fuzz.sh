#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# fuzz.sh [LIBFUZZER-OPTION...]
#
# Feeds the daemon's packet parser and RDMA engine (device/tests/fuzz/fuzz_packets.c), with
# 300,000 inputs, a minute, unless an option says otherwise.  What it finds out about inputs stays in
# build/fuzz and is the beginning of the next run; an input that breaks something is
# left there, too.

. "$(dirname "$0")/lib.sh"

exclusive fuzz
step "fuzzer"
make -s -j"$(nproc)" --no-print-directory -C "$top/device" O="$build/device" fuzz
work=$build/fuzz
log=$work/fuzz.log
mkdir -p "$work/corpus"
for golden in "$top"/device/tests/golden/*.hex; do
	/usr/bin/python3 "$top/device/tests/fuzz/fuzz_seeds.py" "$golden" "$work/corpus"
done

step "fuzzing"
rc=0
"$build/device/fuzz/fuzz_packets" -max_len=2500 -timeout=20 \
	-artifact_prefix="$work/" -print_final_stats=1 "${@:--runs=300000}" \
	"$work/corpus" > "$log" 2>&1 || rc=$?
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
if [ "$rc" -eq 0 ] && [ "${runs:-0}" -gt 10000 ]; then
	echo "$runs inputs"
	record fuzz 1 0
else
	tail -n 40 "$log"
	record fuzz 0 1
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# fuzz.sh [TARGET...] [LIBFUZZER-OPTION...]
#
# Runs the daemon's fuzz targets (device/tests/fuzz):
#   packets   frames of the network, to the parser and the RDMA engine
#   messages  messages of vhost-user
#   commands  control commands
#   requests  work requests, and rings and memory behind them
#   rings     direct rings, control blocks, doorbell pages, event queues
#   state     saved states of a NIC
#   handover  what a process hands over: ports, connections, descriptors
#   nvmf      capsules of NVMe over Fabrics
#   node      frames and messages of the connection manager, to a node of the daemon
# Without arguments it runs all of them for about a quarter of a minute each.  The corpus stays in
# build/fuzz, where the next run starts from it; an input that makes a target fail
# stays there as well.

. "$(dirname "$0")/../lib.sh"

# Bytes of an input.  Frames have what fits on the network; the others somewhat more than the
# longest seed, which is a dozen operations: more would only take longer.
declare -A longest=([packets]=1500 [messages]=96 [commands]=96 [requests]=64 [rings]=192
	[state]=64 [handover]=64 [nvmf]=128 [node]=256)

# Memory that is freed is kept back by 16 MiB of it, and an allocation remembers three
# callers: both take a good part of the time.
export ASAN_OPTIONS=quarantine_size_mb=16:malloc_context_size=3${ASAN_OPTIONS:+:$ASAN_OPTIONS}

# Inputs of a short run: a quarter of a minute each where nothing else runs.
declare -A short=([packets]=50000 [messages]=15000 [commands]=30000 [requests]=10000
	[rings]=10000 [state]=5000 [handover]=1000 [nvmf]=5000 [node]=15000)

targets=()
while [ $# -gt 0 ] && [ -n "${short[$1]-}" ]; do
	targets+=("$1")
	shift
done
[ ${#targets[@]} -gt 0 ] || targets=(packets messages commands requests rings state handover nvmf node)

exclusive fuzz
step "fuzzers"
make -s -j"$(nproc)" --no-print-directory -C "$top/device" O="$build/device" fuzz
work=$build/fuzz

# As many inputs as an option asks for, or so many that a target cannot have stood still.
wanted()
{
	local option runs=10000

	for option; do
		[ "${option#-runs=}" = "$option" ] || runs=${option#-runs=}
	done
	echo "$runs"
}

# fuzz TARGET OPTION...: fails if the target failed, or if it ran fewer inputs than wanted.
# An input may take 300 s, because the fuzzers get what other suites leave of the processors.
fuzz()
{
	local target=$1 corpus=$work/corpus-$1 log=$work/$1.log began=$SECONDS runs rate rc=0

	shift
	mkdir -p "$corpus"
	/usr/bin/python3 "$top/device/tests/fuzz/fuzz_seeds.py" "$target" "$corpus"
	"$build/device/fuzz/fuzz_$target" -max_len="${longest[$target]}" -timeout=300 \
		-entropic=0 \
		-artifact_prefix="$work/$target-" -print_final_stats=1 "$@" \
		"$corpus" > "$log" 2>&1 || rc=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	if [ "$rc" -eq 0 ] && [ "${runs:-0}" -ge "$(wanted "$@")" ]; then
		rate=$((runs / (SECONDS - began + 1)))
		echo "$target: $runs inputs, $rate in a second, $(grep -o 'cov: [0-9]*' "$log" |
			tail -n 1)"
		return 0
	fi
	echo "$target: $(wanted "$@") inputs wanted, ${runs:-none} run, status $rc"
	tail -n 40 "$log"
	return 1
}

passed=0
failed=0
for target in "${targets[@]}"; do
	step "fuzzing with $target"
	if fuzz "$target" "${@:--runs=${short[$target]}}"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
done
record fuzz "$passed" "$failed"

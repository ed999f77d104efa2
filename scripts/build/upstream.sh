#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# upstream.sh [--check]
#
# Writes two patch series from HEAD, for Linux and for rdma-core, into build/upstream, and
# has checkpatch.pl look at them.  With --check they are applied and compiled, too, with
# the newest kernel source that Debian has and with rdma-core 65: the kernel's drivers as
# modules, built in and without RoCE, with extra warnings and sparse; rdma-core with the
# options of its own tests.
#
# Documentation/upstreaming.rst tells what reviewers will find.

. "$(dirname "$0")/../lib.sh"

out=$build/upstream
tree=$("$top/scripts/images/trees.sh" upstream)
rdma_core=$(compgen -G "$("$top/scripts/images/trees.sh" rdma-core)/rdma-core_65*")
passed=0
failed=0

# try NAME COMMAND...: a check passes if the command ends well and prints no warning.
try()
{
	local name=$1 log=$out/log rc=0

	shift
	"$@" > "$log" 2>&1 || rc=$?
	if [ "$rc" -eq 0 ] && ! grep -qE '(warning|error|WARNING|ERROR|CHECK):' "$log"; then
		passed=$((passed + 1))
		echo "ok   $name"
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		tail -n 100 "$log" | sed 's/^/    /'
	fi
}

exclusive upstream
step "patch series"
mkdir -p "$out"
"$top/upstream/generate.py" "$tree/usr/src/linux" "$rdma_core" "$out"

step "checkpatch.pl"
# MAINTAINERS has what it asks for, but not in each patch.
try "checkpatch.pl (Linux)" "$top/scripts/images/in-tree" "$tree" sh -c '
	perl /usr/src/linux/scripts/checkpatch.pl --no-tree --strict --quiet --show-types \
		--ignore FILE_PATH_CHANGES "$1"/linux/*.patch' sh "$out"
# shellcheck disable=SC2154
try "checkpatch.pl (rdma-core)" "$top/scripts/images/in-tree" "$tree" sh -c '
	perl /usr/src/linux/scripts/checkpatch.pl --no-tree --strict --quiet --show-types \
		--ignore "FILE_PATH_CHANGES,$2" "$1"/rdma-core/*.patch' sh "$out" "$kernel_only"

if [ "${1-}" = --check ]; then
	step "Linux with the patches"
	for how in modules builtin without; do
		try "Linux: $how" "$top/scripts/images/in-tree" "$tree" \
			"$top/upstream/build-kernel" "$how" "$out"
	done
	step "rdma-core with the patches"
	for how in gcc static clang sparse i386 arm64; do
		try "rdma-core: $how" "$top/scripts/images/in-tree" "$tree" \
			"$top/upstream/build-rdma-core" "$how" "$rdma_core" "$out"
	done
fi

record upstream "$passed" "$failed"

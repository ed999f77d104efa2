#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Kernel style: the compiler's extra warnings for the oldest kernel that the modules build
# for, the guests', the newest, and the debug kernel, with which the KUnit suites are
# built; in the same pass sparse, which does not know the newest one's headers
# (__typeof_unqual__); checkpatch.pl for every file.  The includes of the daemon and of the
# RDMA driver go downwards only, as the file "layers" of each says, and the documentation
# has the messages literally.
#
# The daemon and the provider: checkpatch.pl but for what it wants of kernel code only,
# for their tests too; cppcheck; for the daemon clang-tidy with the checks of
# device/.clang-tidy; for the provider sparse.
#
# A file that has passed is not checked again until it changes: the cache has an empty file for
# each check, or for each file where a check takes files one by one.

. "$(dirname "$0")/../lib.sh"

passed=0
failed=0

log=$build/lint.log
stamps=$cache/lint
mkdir -p "$build" "$stamps"
find "$stamps" -type f -mtime +30 -delete
cd "$top"

# All checks depend on these: the programs and headers of this machine and of the trees,
# the kernels, and how they are used.
common=$({
	dpkg-query -W
	for tree in build newest; do
		"$top/scripts/images/trees.sh" "$tree"
	done
	"$top/scripts/images/kunit-kernel.sh" debug
	cat scripts/lint/lint.sh scripts/lib.sh scripts/images/in-tree scripts/build/modules.sh \
		scripts/build/provider.sh
} | sha256sum)

# stamp NAME FILE...: the path of what says that a check of these files has passed.
stamp()
{
	{
		echo "$common"
		echo "$1"
		sha256sum "${@:2}"
	} | sha256sum | sed "s,\(.\{32\}\).*,$stamps/\1,"
}

# judge NAME PATTERN COMMAND...: a check passes if the command ends well and its output
# has no line of the pattern.
judge()
{
	local name=$1 pattern=$2 rc=0

	shift 2
	"$@" > "$log" 2>&1 || rc=$?
	if [ "$rc" -eq 0 ] && ! grep -qiE "$pattern" "$log"; then
		passed=$((passed + 1))
		echo "ok   $name"
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		sed 's/^/    /' "$log"
		return 1
	fi
}

# check all|each NAME PATTERN COMMAND...: judges a command that looks at all files
# together, or at each by itself and at the headers of the array "read_too".  The names
# come in, each ended by NUL, and go on to the command but for those that have passed.
read_too=()
check()
{
	local how=$1 name=$2 file
	local -a all files=() known=()

	shift
	mapfile -d '' all
	if [ "$how" = all ]; then
		known=("$(stamp "$name" "${all[@]}")")
		[ -e "${known[0]}" ] || files=("${all[@]}")
	else
		for file in "${all[@]}"; do
			known+=("$(stamp "$name" "$file" "${read_too[@]}")")
			[ -e "${known[-1]}" ] || files+=("$file")
		done
	fi
	[ ${#files[@]} -gt 0 ] || set -- "$1" "$2" true
	if judge "$@" < <(printf '%s\0' "${files[@]}"); then
		touch "${known[@]}"
	fi
}

# Objects that were compiled before stay, to be built upon, if nothing was wrong with them.
known=$build/lint/.passed
[ "$(cat "$known" 2> /dev/null)" = "$common" ] || rm -rf "$build/lint"
rm -f "$known"
for kernel in oldest guest newest debug; do
	# W=1 is in modules.sh.
	checks=()
	[ "$kernel" = newest ] || checks=(C=1 CF=-Wsparse-error)
	check all "$kernel kernel: W=1 ${checks[*]}" 'warning:|error:' \
		"$top/scripts/build/modules.sh" --lint "$kernel" "${checks[@]}" < <(
		find Kbuild drivers include uapi kunit -type f -print0 | sort -z)
done
if [ "$failed" -eq 0 ]; then
	mkdir -p "$build/lint"
	echo "$common" > "$known"
fi

# checkpatch ARGUMENT...: of the files whose names come in, each ended by NUL.
checkpatch()
{
	xargs -0 -n 32 -P 2 "$top/scripts/images/in-tree" build /usr/src/checkpatch/checkpatch.pl \
		--no-tree --strict --quiet --show-types "$@" -f
}
findings='^(ERROR|WARNING|CHECK):'

step "checkpatch.pl"
check each "checkpatch.pl" "$findings" checkpatch < <(
	find Kbuild drivers include uapi kunit -type f ! -name '*_compat.h' -print0 | sort -z)
# Telling kernels apart is what these headers are for.
check each "checkpatch.pl (for several kernels)" "$findings" checkpatch \
	--ignore LINUX_VERSION_CODE,CONSTANT_COMPARISON,EXPORT_SYMBOL,MACRO_ARG_UNUSED < <(
	find include -name '*_compat.h' -print0)

step "Layers of the daemon, the RDMA driver and nvmft"
judge "layers" 'error:' "$top/scripts/lint/layers.py" || true
judge "layers.py finds what is wrong" 'error:' "$top/scripts/lint/layers.py" --self-test || true

step "Writes to memory of a guest"
judge "writes" 'error:' "$top/scripts/lint/writes.py" || true
judge "writes.py finds what is wrong" 'error:' "$top/scripts/lint/writes.py" --self-test || true

step "Messages in the documentation"
judge "Documentation/troubleshooting.rst" 'error:' "$top/scripts/lint/messages.py" || true
judge "messages.py finds what is wrong" 'error:' "$top/scripts/lint/messages.py" --self-test || true

step "Voice of comments and documents"
judge "voice of comments and documents" 'error:' "$top/scripts/lint/voice.py" || true
judge "voice.py finds what is wrong" 'error:' "$top/scripts/lint/voice.py" --self-test || true

step "The specification"
judge "Documentation/spec.rst" 'error:' "$top/scripts/lint/spec.py" || true
judge "spec.py finds what is wrong" 'error:' "$top/scripts/lint/spec.py" --self-test || true

step "Figures of README.md"
judge "README.md, its table and plot" 'error:' "$top/scripts/suites/figures.py" --check || true
judge "figures.py finds what is wrong" 'error' "$top/scripts/suites/figures.py" --self-test || true

step "Headers of several kernels"
judge "include/compat.mk" 'error:' "$top/scripts/suites/compat-test.sh" || true

step "sparse (provider)"
check all "sparse (provider)" 'warning:|error:' "$top/scripts/build/provider.sh" --sparse < <(
	find provider uapi -type f -print0 | sort -z)

step "checkpatch.pl (user space)"
# shellcheck disable=SC2154
check each "checkpatch.pl (user space)" "$findings" checkpatch --ignore "$kernel_only" < <(
	find device nvmft provider -name '*.[ch]' ! -path '*/tests/*' -print0 | sort -z)

step "checkpatch.pl (unit tests)"
# Left out besides: functions that the linker names (--wrap); names for mkdtemp() to
# change; bad commands for the control socket; compound literals as arguments, which
# it takes for blocks; memory that is touched only to see whether that faults; checks
# that leave the function of a child process; macros that list enumerators.
tests_only=AVOID_EXTERNS,STATIC_CONST_CHAR_ARRAY,QUOTED_WHITESPACE_BEFORE_NEWLINE
tests_only+=,PARENTHESIS_ALIGNMENT,VOLATILE,MACRO_WITH_FLOW_CONTROL,COMPLEX_MACRO
check each "checkpatch.pl (unit tests)" "$findings" checkpatch \
	--ignore "$kernel_only,$tests_only" < <(
	find device/tests provider/tests -name '*.[ch]' -print0 | sort -z)

# Files that the analyzers of the daemon read besides the file that they look at.
mapfile -d '' read_too < <(find device nvmft provider uapi include -name '*.h' -print0 | sort -z)
read_too+=(device/.clang-tidy)

step "cppcheck"
# The lists of sys/queue.h are macros that it has to see.
check each "cppcheck" 'warning:|error:' xargs -0 cppcheck --quiet --error-exitcode=1 \
	-j2 --std=c11 --enable=warning,performance,portability --inline-suppr \
	--include="/usr/include/$(gcc -print-multiarch)/sys/queue.h" \
	-D_GNU_SOURCE -Idevice -Invmft -I. < <(
	find device nvmft provider -name '*.c' ! -path '*/tests/*' -print0 | sort -z)

step "clang-tidy"
check each "clang-tidy" 'warning:|error:' xargs -0 -n 8 -P 2 sh -c \
	'clang-tidy --quiet "$@" -- -std=gnu11 -D_GNU_SOURCE -Idevice -I. -fno-strict-aliasing' sh < <(
	find device -name '*.c' ! -path '*/tests/*' -print0 | sort -z)

record lint "$passed" "$failed"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Kernel style: the compiler's extra warnings for the oldest kernel that the modules build
# for, the guests', the newest, and the debug kernel, with which the KUnit suites are
# built; in the same pass sparse, which does not know the newest one's headers
# (__typeof_unqual__); checkpatch.pl for every file.  The daemon's includes go downwards
# only, as device/rooms says.
#
# The daemon and the provider: checkpatch.pl but for what it wants of kernel code only,
# for their tests too; cppcheck; for the daemon clang-tidy with the checks of
# device/.clang-tidy; for the provider sparse.

. "$(dirname "$0")/lib.sh"

passed=0
failed=0

# judge NAME LOG STATUS PATTERN: a check passes if it ended well and its output
# has no line of the pattern.
judge()
{
	if [ "$3" -eq 0 ] && ! grep -qiE "$4" "$2"; then
		passed=$((passed + 1))
		echo "ok   $1"
	else
		failed=$((failed + 1))
		echo "FAIL $1"
		sed 's/^/    /' "$2"
	fi
}

log=$build/lint.log
mkdir -p "$build"
for kernel in oldest guest newest debug; do
	rc=0
	checks=(W=1)
	[ "$kernel" = newest ] || checks+=(C=2 CF=-Wsparse-error)
	"$top/scripts/build-modules.sh" --lint "$kernel" "${checks[@]}" > "$log" 2>&1 || rc=$?
	judge "$kernel kernel: ${checks[*]}" "$log" "$rc" 'warning:|error:'
done

# checkpatch ARGUMENT...: of the files whose names come in, each ended by NUL.
checkpatch()
{
	xargs -0 -n 32 -P 2 "$top/scripts/in-tree" build /usr/src/checkpatch/checkpatch.pl \
		--no-tree --strict --quiet --show-types "$@" -f
}

step "checkpatch.pl"
cd "$top"
rc=0
{
	find Kbuild drivers include uapi kunit -type f ! -name '*_compat.h' -print0 |
		sort -z | checkpatch || rc=$?
	# Telling kernels apart is what these headers are for.
	find include -name '*_compat.h' -print0 |
		checkpatch --ignore LINUX_VERSION_CODE,CONSTANT_COMPARISON \
			--ignore EXPORT_SYMBOL,MACRO_ARG_UNUSED || rc=$?
} > "$log" 2>&1
judge "checkpatch.pl" "$log" "$rc" '^(ERROR|WARNING|CHECK):'

step "Rooms of the daemon"
rc=0
"$top/scripts/check-rooms.py" > "$log" 2>&1 || rc=$?
judge "device/rooms" "$log" "$rc" 'error:'
rc=0
"$top/scripts/check-rooms.py" --self-test > "$log" 2>&1 || rc=$?
judge "check-rooms.py finds what is wrong" "$log" "$rc" 'error:'

step "sparse (provider)"
rc=0
"$top/scripts/build-provider.sh" --sparse > "$log" 2>&1 || rc=$?
judge "sparse (provider)" "$log" "$rc" 'warning:|error:'

step "checkpatch.pl (user space)"
# Left out: kernel types, macros and functions; errno, which verbs return positive;
# fields that macros of sys/queue.h declare; macros that are rows of a table.
kernel_only=PREFER_KERNEL_TYPES,PREFER_DEFINED_ATTRIBUTE_MACRO,BIT_MACRO,STRCPY
kernel_only+=,CAMELCASE,ENOSYS,USE_NEGATIVE_ERRNO,LINE_SPACING,NEW_TYPEDEFS
kernel_only+=,MACRO_ARG_REUSE,EMBEDDED_FUNCTION_NAME,BRACKET_SPACE
rc=0
find device provider -name '*.[ch]' ! -path '*/tests/*' -print0 | sort -z |
	checkpatch --ignore "$kernel_only" > "$log" 2>&1 || rc=$?
judge "checkpatch.pl (user space)" "$log" "$rc" '^(ERROR|WARNING|CHECK):'

step "checkpatch.pl (unit tests)"
# Left out besides: functions that the linker names (--wrap); names for mkdtemp() to
# change; bad commands for the control socket; compound literals as arguments, which
# it takes for blocks; memory that is touched only to see whether that faults; checks
# that leave the function of a child process; macros that list enumerators.
tests_only=AVOID_EXTERNS,STATIC_CONST_CHAR_ARRAY,QUOTED_WHITESPACE_BEFORE_NEWLINE
tests_only+=,PARENTHESIS_ALIGNMENT,VOLATILE,MACRO_WITH_FLOW_CONTROL,COMPLEX_MACRO
rc=0
find device/tests provider/tests -name '*.[ch]' -print0 | sort -z |
	checkpatch --ignore "$kernel_only,$tests_only" > "$log" 2>&1 || rc=$?
judge "checkpatch.pl (unit tests)" "$log" "$rc" '^(ERROR|WARNING|CHECK):'

step "cppcheck"
rc=0
# The lists of sys/queue.h are macros that it has to see.
find device provider -name '*.c' ! -path '*/tests/*' -print0 | sort -z |
	xargs -0 cppcheck --quiet --error-exitcode=1 -j2 --std=c11 \
		--enable=warning,performance,portability --inline-suppr \
		--include="/usr/include/$(gcc -print-multiarch)/sys/queue.h" \
		-D_GNU_SOURCE -Idevice -I. > "$log" 2>&1 || rc=$?
judge "cppcheck" "$log" "$rc" 'warning:|error:'

step "clang-tidy"
rc=0
find device -name '*.c' ! -path '*/tests/*' -print0 | sort -z |
	xargs -0 -n 8 -P 2 sh -c 'clang-tidy --quiet "$@" -- -std=gnu11 \
		-D_GNU_SOURCE -Idevice -I. -fno-strict-aliasing' sh \
		> "$log" 2>&1 || rc=$?
judge "clang-tidy" "$log" "$rc" 'warning:|error:'

record lint "$passed" "$failed"

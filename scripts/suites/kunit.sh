#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# kunit.sh plain|debug
#
# Builds the modules and their KUnit suites for a KUnit kernel and runs all
# suites in it.

. "$(dirname "$0")/../lib.sh"

variant=$1
kernel=$("$top/scripts/images/kunit-kernel.sh" "$variant")
modules=$("$top/scripts/build/modules.sh" "$variant")

step "KUnit ($variant)"
shopt -s nullglob
tests=("$modules"/kunit/*.ko)
suite=kunit
[ "$variant" = plain ] || suite=kunit-$variant
run_counted "$suite" env KUNIT_LOG="$build/$suite-console.log" \
	/usr/bin/python3 "$top/scripts/suites/kunit-run.py" "$kernel" "$modules" "${tests[@]}"

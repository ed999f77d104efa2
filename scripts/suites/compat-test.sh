#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Tests what include/compat.mk finds in a kernel's headers.  A declaration of two lines is
# found wherever it begins: Debian's 6.12.117 moved one by a single line, and the modules
# did not compile any more.

set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd -P)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

# shellcheck disable=SC2016
printf '%s\n' "include $top/include/compat.mk" 'all: ; @echo $(ccflags-y)' > "$tree/Makefile"
mkdir -p "$tree/include/rdma"

# expect YES|NO LINE...: is CREATE_CQ_ATTRS found in a header of these lines?
expect()
{
	local wanted=$1 found=NO flags

	shift
	printf '%s\n' "$@" > "$tree/include/rdma/ib_verbs.h"
	# Not by a pipe: make may say more, as that it leaves a directory, when grep has ended.
	flags=$(make -s -f "$tree/Makefile" srctree="$tree")
	if grep -qw -e -DVNR_HAVE_CREATE_CQ_ATTRS <<< "$flags"; then
		found=YES
	fi
	if [ "$found" != "$wanted" ]; then
		printf 'error: CREATE_CQ_ATTRS found: %s, expected: %s, in\n' "$found" "$wanted"
		printf '\t%s\n' "$@"
		exit 1
	fi
}

first='	int (*create_cq)(struct ib_cq *cq, const struct ib_cq_init_attr *attr,'
for before in 0 1 2 3; do
	mapfile -t lines < <(yes '/* another line */' | head -n "$before")
	expect YES "${lines[@]}" "$first" '		struct uverbs_attr_bundle *attrs);'
	expect YES "${lines[@]}" "$first struct uverbs_attr_bundle *attrs);"
	expect NO "${lines[@]}" "$first" '		struct ib_udata *udata);' \
		'	int (*other)(struct uverbs_attr_bundle *attrs);'
done

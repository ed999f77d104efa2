#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# kunit-kernel.sh plain|debug
#
# Builds the kernel that KUnit tests run in (Debian's own have KUnit off), of
# the version that the guests have, unless the cache has it, and prints the
# path of its directory:
#   bzImage   the kernel
#   tree/     what building a module for it needs, and the KUnit log parser
#   modules/  its own modules, as they are installed under /

. "$(dirname "$0")/../lib.sh"

# Later lines of the fragments win: drops the earlier ones of each option.
merge_fragments()
{
	# tac alone turns the lines of each file, and not the files.
	cat "$@" | tac | awk '
		match($0, /CONFIG_[A-Za-z0-9_]+/) {
			option = substr($0, RSTART, RLENGTH)
			if (!seen[option]++)
				print
		}' | tac
}

# "make olddefconfig" silently drops an option whose dependencies are not met,
# so every one that was asked for is looked up in the result.
check_config()
{
	local wanted=$1 result=$2 line option failed=0

	while read -r line; do
		case $line in
		CONFIG_*=n)	line="# ${line%=n} is not set" ;;
		CONFIG_*)	;;
		*)		continue ;;
		esac
		option=$(grep -o 'CONFIG_[A-Za-z0-9_]*' <<< "$line" | head -n 1)
		if [ "${line:0:1}" = '#' ]; then
			! grep -q "^$option=" "$result" && continue
		else
			grep -qxF "$line" "$result" && continue
		fi
		echo "kernel configuration: wanted $line, got" \
			"$(grep "${option}[= ]" "$result" || echo nothing)"
		failed=1
	done < "$wanted"
	return $failed
}

# in_build_tree DIR COMMAND...: gently, since it takes long.
in_build_tree()
{
	local dir=$1

	shift
	nice "$top/scripts/images/in-tree" "$build_tree" \
		sh -ec 'cd "$1"; shift; exec "$@"' sh "$dir" "$@"
}

make_kernel()
{
	local out=$1 src=$1/src

	step "KUnit kernel ($variant): source and configuration"
	mkdir "$src"
	dpkg-deb --fsys-tarfile "$kernel"/linux-source-*.deb |
		tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
		tar -xJ --strip-components=1 -C "$src"
	merge_fragments "${fragments[@]}" > "$out/wanted.config"
	in_build_tree "$src" make -s KCONFIG_ALLCONFIG="$out/wanted.config" allnoconfig
	check_config "$out/wanted.config" "$src/.config"

	step "KUnit kernel ($variant): compiling, some 6 minutes on two cores"
	in_build_tree "$src" make -s -j"$(nproc)" bzImage modules

	step "KUnit kernel ($variant): installing"
	in_build_tree "$src" make -s INSTALL_MOD_PATH="$out/modules" modules_install
	in_build_tree "$src" make -s run-command \
		KBUILD_RUN_COMMAND="./scripts/package/install-extmod-build $out/tree"
	mkdir -p "$out/tree/tools/testing"
	cp -r "$src/tools/testing/kunit" "$out/tree/tools/testing"
	cp "$src/arch/x86/boot/bzImage" "$src/System.map" "$out"
	cp "$src/.config" "$out/config"
	rm -rf "$src"
}

variant=${1-}
case $variant in
plain)	fragments=("$top/scripts/images/kunit/kernel.config") ;;
debug)	fragments=("$top"/scripts/images/kunit/{kernel,debug}.config) ;;
*)
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
kernel=$("$top/scripts/images/trees.sh" kernel)
build_tree=$("$top/scripts/images/trees.sh" build)
cached "kunit-$variant" "${fragments[@]}" "$kernel/version" -- make_kernel
echo "$entry"

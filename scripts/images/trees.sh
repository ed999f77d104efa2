#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# trees.sh NAME
#
# Makes a Debian tree, unless the cache has it, and prints its path:
#   base    Debian 13 (trixie) as small as it gets; the others start from it
#   kernel  the Debian packages of one kernel version: image, headers, source
#   qemu    QEMU 11.1 from trixie-backports, for the host (see scripts/images/qemu)
#   libvirt the same and libvirt
#   guest   what a guest has on its disk
#   apps    the same and the programs of "make apps"
#   build   compiles what runs in a guest: headers, gcc, the rdma-core source,
#           checkpatch.pl, and what building a kernel needs
#   packages  the same, and what makes Debian packages
#   rpm     the same, and what makes RPM packages
#   system  a Debian 13 that starts as its installer leaves it: systemd, udev, an initramfs
#           of its own, DKMS and a compiler
#   packages-RELEASE, system-RELEASE  these for another release: bookworm, forky
#   newest  compiles the modules against the newest kernel that backports have
#   upstream  Debian forky, which compiles what "make upstream" writes, and the newest
#           kernel source that Debian has
#   bookworm  Debian 12 as small as it gets
#   fresh   Debian 12 with the packages of packages.list and nothing else
#   libfabric  the part of libfabric's source, as Debian 13 has it, that its tests are
#           built from
#   qemu-build  compiles QEMU
#   qemu-source  the newest source of QEMU that Debian's mirror has, without Debian's patches
#   rdma-core  the sources of rdma-core as Debian 12, 13 and the next one have them,
#           a directory each; without those that the mirror lists and does not have

. "$(dirname "$0")/../lib.sh"

in_new_tree()
{
	local tree=$1

	shift
	"$top/scripts/images/in-tree" --write "$tree" "$@"
}

# install TREE PACKAGE...: without recommended packages, which are not needed here.
# A file of the tree may be named relative to the tree's root.
install()
{
	local tree=$1

	shift
	in_new_tree "$tree" apt-get install -q -y --no-install-recommends "$@"
	in_new_tree "$tree" apt-get clean
}

# Packages are taken from what the file lists: one a line, "#" starts a comment.
package_names()
{
	sed -e 's/#.*//' "$1" | xargs
}

bootstrap()
{
	local suite=$1 tree=$2

	debootstrap --variant=minbase --include=ca-certificates \
		"$suite" "$tree" "$mirror"
	# Lost trees are built again, so dpkg need not wait for the disk.
	# Manuals are not read in them.
	printf '%s\n' force-unsafe-io 'path-exclude=/usr/share/doc/*' \
		'path-exclude=/usr/share/man/*' 'path-exclude=/usr/share/locale/*' \
		> "$tree/etc/dpkg/dpkg.cfg.d/lab"
}

make_base()
{
	local tree=$1

	step "Debian 13 base tree (debootstrap)"
	bootstrap trixie "$tree"
	printf '%s\n' \
		"deb $mirror trixie main" \
		"deb $mirror trixie-backports main" \
		"deb-src $mirror trixie main" > "$tree/etc/apt/sources.list"
	in_new_tree "$tree" apt-get update -q
}

# Everything that must be of one kernel version is fetched at one time: the
# archive may move on before the other trees are made again.
make_kernel()
{
	local base=$1 dir=$2 tree=$2/tree version

	step "kernel packages (image, headers, source)"
	cp -a "$base" "$tree"
	in_new_tree "$tree" sh -ec '
		apt-get update -q
		image=$(apt-cache depends linux-image-amd64 |
			sed -n "s/^ *Depends: linux-image-//p")
		mkdir /kernel
		chown _apt /kernel
		cd /kernel
		apt-get download "linux-image-$image" "linux-headers-$image" \
			"linux-headers-${image%-amd64}-common" \
			"linux-kbuild-${image%-amd64}" "linux-source-${image%.*}"
		echo "$image" > version'
	mv "$tree"/kernel/* "$dir"
	rm -rf --one-file-system "$tree"
}

make_qemu()
{
	local base=$1 packages=$2 tree=$3

	step "QEMU tree"
	cp -aT "$base" "$tree"
	in_new_tree "$tree" apt-get update -q
	install "$tree" -t trixie-backports $packages
}

make_guest()
{
	local base=$1 kernel=$2 packages=$3 tree=$4

	step "guest tree"
	cp -aT "$base" "$tree"
	in_new_tree "$tree" apt-get update -q
	mkdir "$tree/kernel"
	cp "$kernel"/linux-image-*.deb "$tree/kernel"
	(cd "$tree" && install "$tree" $packages ./kernel/*.deb)
	rm -r "$tree/kernel" "$tree"/var/lib/apt/lists/*
}

make_apps()
{
	local guest=$1 packages=$2 tree=$3

	step "tree with applications"
	cp -aT "$guest" "$tree"
	in_new_tree "$tree" apt-get update -q
	install "$tree" $packages
	rm -r "$tree"/var/lib/apt/lists/*
}

make_build()
{
	local base=$1 kernel=$2 packages=$3 tree=$4

	step "build tree"
	cp -aT "$base" "$tree"
	in_new_tree "$tree" apt-get update -q
	mkdir "$tree/kernel"
	# The headers want the image of the same version beside them.
	cp "$kernel"/linux-{image,headers,kbuild}-*.deb "$tree/kernel"
	(cd "$tree" && install "$tree" $packages ./kernel/*.deb)
	step "build tree: sources of rdma-core, checkpatch"
	in_new_tree "$tree" sh -ec '
		cd /usr/src
		# The unpatched archive is enough, so the rest of the source
		# package is not fetched.
		apt-get --print-uris source rdma-core |
			sed -n "s/^.\([^ ]*\). \(rdma-core_[0-9.]*\.orig\.tar\.[a-z]*\) .* SHA256:\([0-9a-f]*\)$/\1 \2 \3/p" > list
		read -r uri file sum < list
		/usr/lib/apt/apt-helper download-file "$uri" "$file" "SHA256:$sum"
		tar -xf "$file"
		rm "$file" list
	'
	rm -r "$tree/kernel"
	mkdir "$tree/usr/src/checkpatch"
	dpkg-deb --fsys-tarfile "$kernel"/linux-source-*.deb |
		tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
		tar -xJ --strip-components=2 -C "$tree/usr/src/checkpatch" \
			--wildcards '*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
			'*/scripts/const_structs.checkpatch'
	rm -rf "$tree"/var/lib/apt/lists/*
	in_new_tree "$tree" apt-get clean
}

make_packages()
{
	local build=$1 packages=$2 tree=$3

	step "tree that makes packages"
	cp -aT "$build" "$tree"
	in_new_tree "$tree" apt-get update -q
	install "$tree" $packages
	rm -r "$tree"/var/lib/apt/lists/*
}

make_system()
{
	local base=$1 kernel=$2 packages=$3 tree=$4

	step "tree of a Debian with systemd"
	cp -aT "$base" "$tree"
	in_new_tree "$tree" apt-get update -q
	mkdir "$tree/kernel"
	cp "$kernel"/linux-{image,headers,kbuild}-*.deb "$tree/kernel"
	(cd "$tree" && install "$tree" $packages ./kernel/*.deb)
	in_new_tree "$tree" env -u INITRD update-initramfs -c -k all
	rm -r "$tree/kernel" "$tree"/var/lib/apt/lists/*
}

# The same two for other releases: their own kernels, and no sources.
make_release()
{
	local release=$1 packages=$2 tree=$3

	step "tree of Debian $release"
	# This machine's debootstrap may be older than the release.
	DEBOOTSTRAP_DIR=$(mktemp -d)
	export DEBOOTSTRAP_DIR
	cp -r /usr/share/debootstrap/. "$DEBOOTSTRAP_DIR"
	[ -e "$DEBOOTSTRAP_DIR/scripts/$release" ] ||
		ln -s sid "$DEBOOTSTRAP_DIR/scripts/$release"
	bootstrap "$release" "$tree"
	rm -r "$DEBOOTSTRAP_DIR"
	unset DEBOOTSTRAP_DIR
	echo "deb $mirror $release main" > "$tree/etc/apt/sources.list"
	in_new_tree "$tree" apt-get update -q -o "Acquire::Check-Valid-Until=$check_valid"
	install "$tree" $packages
	case $packages in
	*linux-image*) in_new_tree "$tree" env -u INITRD update-initramfs -c -k all ;;
	esac
	rm -r "$tree"/var/lib/apt/lists/*
}

# The newest kernel source is in backports, the newest tools are not.
make_upstream()
{
	local release=$1 packages=$2 tree=$3

	make_release "$release" "$packages" "$tree"
	step "kernel source for the patches"
	echo "deb $mirror trixie-backports main" >> "$tree/etc/apt/sources.list"
	# shellcheck disable=SC2016
	in_new_tree "$tree" sh -ec '
		apt-get update -q -o "Acquire::Check-Valid-Until=$1"
		cd /usr/src
		source=$(apt-cache search --names-only "^linux-source-[0-9.]*$" |
			sed "s/ .*//" | sort -V | tail -n 1)
		apt-get download "$source/trixie-backports"
		dpkg-deb --fsys-tarfile "$source"_*.deb |
			tar -xO "./usr/src/$source.tar.xz" | tar -xJ --no-same-owner
		rm "$source"_*.deb
		mv "$source" linux
	' sh "$check_valid"
	rm -r "$tree"/var/lib/apt/lists/*
}

make_newest()
{
	local base=$1 packages=$2 tree=$3

	step "tree with the newest kernel's headers"
	cp -aT "$base" "$tree"
	in_new_tree "$tree" apt-get update -q
	install "$tree" $packages
	install "$tree" -t trixie-backports linux-headers-amd64
	rm -r "$tree"/var/lib/apt/lists/*
}

make_fresh()
{
	local packages=$1 tree=$2

	step "fresh Debian 12 tree"
	bootstrap bookworm "$tree"
	install "$tree" $packages
}

make_bookworm()
{
	local tree=$1

	step "Debian 12 base tree"
	bootstrap bookworm "$tree"
	echo "deb $mirror bookworm main" > "$tree/etc/apt/sources.list"
}

make_libfabric()
{
	local base=$1 dir=$2

	step "sources of libfabric's tests"
	"$top/scripts/images/in-tree" "$base" sh -ec '
		cd "$1"
		apt-get update -q
		apt-get --print-uris source libfabric |
			sed -n "s/^.\([^ ]*\). \(libfabric_[0-9.]*\.orig\.tar\.[a-z]*\) .* SHA256:\([0-9a-f]*\)$/\1 \2 \3/p" |
			while read -r uri file sum; do
				/usr/lib/apt/apt-helper download-file "$uri" "$file" "SHA256:$sum"
			done
	' sh "$dir"
	tar -xf "$dir"/*.tar.* -C "$dir" --strip-components=1 --wildcards '*/fabtests' \
		'*/include/rdma'
	rm "$dir"/*.tar.*
}

make_qemu_build()
{
	local base=$1 packages=$2 tree=$3

	step "tree to build QEMU in"
	cp -aT "$base" "$tree"
	in_new_tree "$tree" apt-get update -q
	install "$tree" $packages
	rm -r "$tree"/var/lib/apt/lists/*
}

# The newest version with the generic device of which the mirror has what it lists.
make_qemu_source()
{
	local base=$1 mirror=$2 dir=$3

	step "source of QEMU"
	# shellcheck disable=SC2016
	"$top/scripts/images/in-tree" "$base" sh -ec '
		for suite in trixie-backports forky sid; do
			echo "deb-src $1 $suite main"
		done > /etc/apt/sources.list
		apt-get update -q -o "Acquire::Check-Valid-Until=$3"
		cd "$2"
		apt-cache showsrc --only-source qemu |
			sed -n "s/^Version: //p" | sort -ruV | while read -r version; do
			apt-get --print-uris source "qemu=$version" |
				sed -n "s/^.\([^ ]*\). \(qemu_[^ ]*\.orig\.tar\.[a-z]*\) .* SHA256:\([0-9a-f]*\)$/\1 \2 \3/p" |
				{
					read -r uri file sum
					/usr/lib/apt/apt-helper download-file "$uri" "$file" "SHA256:$sum"
				} && break
		done
	' sh "$mirror" "$dir" "$check_valid"
	tar -xf "$dir"/*.tar.* -C "$dir" --strip-components=1
	rm "$dir"/*.tar.*
}

# The unpatched archives are enough.
make_rdma_core()
{
	local base=$1 uris=$2 dir=$3

	step "sources of rdma-core"
	# shellcheck disable=SC2016
	"$top/scripts/images/in-tree" "$base" sh -ec '
		for suite in bookworm trixie forky; do
			echo "deb-src $1 $suite main"
		done > /etc/apt/sources.list
		apt-get update -q -o "Acquire::Check-Valid-Until=$3"
		cd "$2"
		apt-cache showsrc --only-source rdma-core |
			sed -n "s/^Version: //p" | sort -u > versions
		while read -r version; do
			apt-get --print-uris source "rdma-core=$version" |
				sed -n "s/^.\([^ ]*\). \(rdma-core_[0-9.]*\.orig\.tar\.[a-z]*\) .* SHA256:\([0-9a-f]*\)$/\1 \2 \3/p"
		done < versions > list
		while read -r uri file sum; do
			/usr/lib/apt/apt-helper download-file "$uri" "$file" "SHA256:$sum" || continue
			source=${file%.orig.*}
			mkdir "$source"
			tar -xf "$file" --strip-components=1 -C "$source"
			rm "$file"
		done < list
		rm versions list
	' sh "$uris" "$dir" "$check_valid"
}

# Each script here asks for trees, and apt takes a second to say which mirror it uses.
before_making()
{
	mirror=$(debian_mirror)
}

# Only a release in the making has an index that expires: whether one of a mirror that
# stands still will do is the machine's choice, as the mirror is.  Signatures are checked
# in any case.
check_valid=true
eval "$(apt-config shell check_valid Acquire::Check-Valid-Until)"
common="$(declare -f in_new_tree install bootstrap)"
lists=$top/scripts/images/trees

base()
{
	cached tree-base "$common" -- make_base
	base=$entry
}

kernel()
{
	base
	cached kernel "$common" -- make_kernel "$base"
	kernel=$entry
}

guest()
{
	kernel
	cached tree-guest "$common" "$kernel/version" -- make_guest "$base" "$kernel" \
		"$(package_names "$lists/guest.list")"
	guest=$entry
}

case ${1-} in
base)
	base
	;;
kernel)
	kernel
	;;
qemu)
	base
	cached tree-qemu "$common" -- make_qemu "$base" \
		"$(package_names "$lists/qemu.list")"
	;;
libvirt)
	base
	cached tree-libvirt "$common" -- make_qemu "$base" \
		"$(package_names "$lists/qemu.list") $(package_names "$lists/libvirt.list")"
	;;
guest)
	guest
	;;
apps)
	guest
	cached tree-apps "$common" -- make_apps "$guest" \
		"$(package_names "$lists/apps.list")"
	;;
build)
	kernel
	cached tree-build "$common" "$kernel/version" -- make_build "$base" "$kernel" \
		"$(package_names "$lists/build.list")"
	;;
packages)
	from=$("$0" build)
	cached tree-packages "$common" -- make_packages "$from" \
		"$(package_names "$lists/packages.list")"
	;;
rpm)
	from=$("$0" packages)
	cached tree-rpm "$common" -- make_packages "$from" \
		"$(package_names "$lists/rpm.list")"
	;;
system)
	kernel
	cached tree-system "$common" "$kernel/version" -- make_system "$base" "$kernel" \
		"$(package_names "$lists/system.list")"
	;;
packages-*)
	# For Debian 12 rdma-core has to be built, too.
	more=
	[ "$1" != packages-bookworm ] || more=$(package_names "$lists/rdma-core.list")
	cached "tree-$1" "$common" -- make_release "${1#*-}" \
		"$(package_names "$lists/build.list") $(package_names "$lists/packages.list") $more"
	;;
system-*)
	cached "tree-$1" "$common" -- make_release "${1#*-}" \
		"$(package_names "$lists/system.list") $(package_names "$lists/suite.list") linux-image-amd64 linux-headers-amd64"
	;;
newest)
	base
	cached tree-newest "$common" -- make_newest "$base" "gcc ccache libc6-dev make"
	;;
upstream)
	cached tree-upstream "$common" "$(declare -f make_release)" -- make_upstream forky \
		"$(package_names "$lists/build.list") $(package_names "$lists/upstream.list")"
	;;
bookworm)
	cached tree-bookworm "$common" -- make_bookworm
	;;
fresh)
	cached tree-fresh "$common" -- make_fresh \
		"$(package_names "$top/scripts/build/packages.list")"
	;;
libfabric)
	base
	cached sources-libfabric -- make_libfabric "$base"
	;;
qemu-build)
	base
	cached tree-qemu-build "$common" -- make_qemu_build "$base" \
		"$(package_names "$lists/qemu-build.list")"
	;;
qemu-source)
	base
	cached sources-qemu -- make_qemu_source "$base" "$(debian_mirror)"
	;;
rdma-core)
	base
	cached sources-rdma-core -- make_rdma_core "$base" "$(debian_mirror)"
	;;
*)
	sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2
	exit 2
	;;
esac
echo "$entry"

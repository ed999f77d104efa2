#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Installs everything below a folder of build/ and looks at what is there: all files, one
# version, a daemon that starts, and sources from which the modules are built as DKMS
# does it.  The kernel is one that has KUnit, of which no suite may be built.

. "$(dirname "$0")/../lib.sh"

dest=$build/install
passed=0
failed=0

# expect TEXT COMMAND...
expect()
{
	local text=$1

	shift
	if "$@" >> "$build/install-test.log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $text"
	fi
}

exclusive install
: > "$build/install-test.log"
version=$(cat "$top/VERSION")
kernel=$("$top/scripts/images/kunit-kernel.sh" debug)/tree
rm -rf "$dest"
step "make install"
make -s -C "$top" install install-dev install-nvmft DESTDIR="$dest" prefix=/usr

for file in usr/sbin/vhost-user-roce usr/sbin/vhost-user-roce-ctl \
	usr/share/man/man8/vhost-user-roce.8 usr/share/man/man8/vhost-user-roce-ctl.8 \
	usr/lib/libibverbs/libvirtio_roce-rdmav34.so usr/lib/libvirtio_roce.so.1 etc/libibverbs.d/virtio_roce.driver \
	usr/lib/libvirtio_roce.so usr/lib/pkgconfig/libvirtio_roce.pc \
	usr/include/infiniband/virtio_rocedv.h usr/share/man/man7/virtio_rocedv_nvmf.7 \
	usr/bin/virtio-roce-nvmft usr/share/man/man1/virtio-roce-nvmft.1 \
	"usr/src/virtio-net-roce-$version/dkms.conf" \
	usr/lib/udev/rules.d/75-virtio-net-roce.rules \
	usr/lib/dracut/dracut.conf.d/50-virtio-net-roce.conf \
	etc/initramfs-tools/hooks/virtio-net-roce \
	etc/security/limits.d/50-virtio-net-roce.conf \
	usr/lib/sysusers.d/virtio-net-roce.conf usr/lib/sysusers.d/vhost-user-roce.conf \
	usr/share/doc/vhost-user-roce/examples/{lan.conf,libvirt.xml} \
	usr/lib/systemd/system/vhost-user-roce@.service; do
	expect "$file is installed" test -s "$dest/$file"
done
# shellcheck disable=SC2016
expect "the daemon tells its version" sh -c '[ "$("$1" --version)" = "vhost-user-roce $2" ]' \
	sh "$dest/usr/sbin/vhost-user-roce" "$version"
expect "the service starts what is installed" grep -q "^ExecStart=/usr/sbin/vhost-user-roce " \
	"$dest/usr/lib/systemd/system/vhost-user-roce@.service"
expect "the service has a keeper" grep -q "^ExecStart=.* --keeper " \
	"$dest/usr/lib/systemd/system/vhost-user-roce@.service"
# Guests have addresses that the example cannot know.
# shellcheck source=/dev/null
expect "the service's example pins no guest to addresses" sh -c '. "$1" &&
	case $OPTIONS in *mac=*|*gid=*|"") exit 1 ;; esac' \
	sh "$dest/usr/share/doc/vhost-user-roce/examples/lan.conf"
expect "the package's changelog tells the version" \
	grep -q "^virtio-net-roce ($version)" "$top/packaging/debian/changelog"
expect "the spec file tells the version" \
	grep -q "^Version:[[:space:]]*$version\$" "$top/packaging/rpm/virtio-net-roce.spec"
expect "the changelog tells the version" grep -q "^$version " "$top/CHANGELOG.rst"
expect "the documentation tells the version" \
	grep -q "dkms install virtio-net-roce/$version" "$top/Documentation/guest.rst"

step "modules as DKMS builds them"
dkms_tree=$build/install-dkms
kernel_source_dir=$kernel
rm -rf "$dkms_tree"
# DKMS reads the file in the same manner, with these variables.
# shellcheck source=/dev/null
. "$dest/usr/src/virtio-net-roce-$version/dkms.conf"
# shellcheck disable=SC2154
expect "dkms.conf tells the version" [ "$PACKAGE_VERSION" = "$version" ]
place=$dkms_tree/$PACKAGE_NAME/$PACKAGE_VERSION/build
mkdir -p "${place%/*}"
cp -a "$dest/usr/src/$PACKAGE_NAME-$PACKAGE_VERSION" "$place"
# shellcheck disable=SC2154
for option in $BUILD_EXCLUSIVE_CONFIG; do
	expect "Debian's kernel has $option" grep -q "^$option=[ym]$" \
		"$("$top/scripts/images/trees.sh" build)"/boot/config-*
done
expect "the kernel has KUnit" grep -q '^CONFIG_KUNIT=[ym]$' "$kernel/include/config/auto.conf"
# shellcheck disable=SC2154,SC2086
expect "the modules are built" "$top/scripts/images/in-tree" build ${MAKE[0]} -j2
# shellcheck disable=SC2154
for i in "${!BUILT_MODULE_NAME[@]}"; do
	expect "${BUILT_MODULE_NAME[i]} is where dkms.conf says" \
		test -s "$place/${BUILT_MODULE_LOCATION[i]}/${BUILT_MODULE_NAME[i]}.ko"
done
expect "nothing else is built" [ "$(find "$place" -name '*.ko' | wc -l)" -eq \
	"${#BUILT_MODULE_NAME[@]}" ]

record install "$passed" "$failed"

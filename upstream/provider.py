# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The series for rdma-core: kernel headers, provider, packaging."""

import re

from flatten import Compat, FlattenError, ascii_only, edit, flatten
from kernel import abi_header, wire_header
from series import (REST, Series, distribute, head, head_files, insert, insert_sorted,
                    piece)

PROVIDER = "providers/virtio_roce"

# Which files are a patch.
PARTS = (
    ("queues", ("virtio_roce.h", "ring.h", "vq.c", "process.c", "cmd.h")),
    ("post", ("post.c",)),
    ("verbs", REST),
)

HEADERS = {
    '#include "virtio_net_roce.h"': "#include <linux/virtio_net_roce.h>",
    '#include "virtio_roce-abi.h"': "#include <rdma/virtio_roce-abi.h>",
}


def defined(name):
    """Of the newest version it is known that it has all that is asked for."""
    if name.startswith("HAVE_"):
        return True
    return False if name.startswith("WITHOUT_") else None


def move_includes(text):
    """Includes our headers by their places in rdma-core, behind the other system headers."""
    wanted = []
    for ours, theirs in HEADERS.items():
        text, count = re.subn(rf"^{re.escape(ours)}\n", "", text, flags=re.M)
        if count:
            wanted.append(theirs + "\n")
    if not wanted:
        return text
    found = list(re.finditer(r"^#include <.*>\n", text, re.M))
    text = text[:found[-1].end()] + "".join(wanted) + text[found[-1].end():]
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"(?<=>\n)\n+(?=/|#define)", "\n", text))


def cmd_header(text):
    """rdma-core generates the macros that DECLARE_DRV_CMD() wants."""
    text, count = re.subn(r"/\*\n \* DECLARE_DRV_CMD\(\) declares.*?\*/\n(?:#define _STRUCT_\w+\n)+\n",
                          "", text, flags=re.S)
    if count != 1:
        raise FlattenError("the macros of cmd.h are not as expected")
    return insert(text, r"#include <infiniband/kern-abi\.h>",
                  "#include <kernel-abi/virtio_roce-abi.h>\n")


def provider_files():
    """The provider as rdma-core has it."""
    compat = Compat.read(head("provider/compat.h"), defined)
    files = {}
    for name in head_files("provider", r".*\.[ch]"):
        if name == "compat.h":
            continue
        text = flatten(head(f"provider/{name}"), compat, defined, name)
        text = text.replace("VIRTIO_ROCE_DRIVER_ID", "RDMA_DRIVER_VIRTIO_ROCE")
        files[name] = move_includes(cmd_header(text) if name == "cmd.h" else text)
    return files


def cmake_lists():
    """Its CMakeLists.txt: the same library."""
    text = head("provider/CMakeLists.txt")
    sources = re.search(r"^set\(VIRTIO_ROCE_SOURCES\n(.*?)\)", text, re.M | re.S)
    library = re.search(r"^rdma_shared_provider\(.*?^rdma_pkg_config\([^\n]*\n", text, re.M | re.S)
    return library[0].replace("  ${VIRTIO_ROCE_SOURCES}\n", sources[1])


def add_headers(series):
    """Does the work of kernel-headers/update, for headers that are in no kernel yet."""
    wire, _ = wire_header()
    series.add("kernel-headers/rdma/virtio_roce-abi.h", abi_header())
    series.add("kernel-headers/linux/virtio_net_roce.h", wire)
    series.change("kernel-headers/rdma/ib_user_ioctl_verbs.h", insert, "\tRDMA_DRIVER_IONIC,",
                  "\tRDMA_DRIVER_VIRTIO_ROCE,\n")

    def lists(text):
        text, count = re.subn(r"^(  )rdma/siw-abi\.h\n", r"\g<0>\1rdma/virtio_roce-abi.h\n", text,
                              flags=re.M)
        if count != 2:
            raise FlattenError("kernel-headers/CMakeLists.txt is not as expected")
        return insert(text, r"  linux/vfio\.h", "  linux/virtio_net_roce.h\n")
    series.change("kernel-headers/CMakeLists.txt", lists)
    series.commit(piece("provider", "headers.txt"))


def add_packaging(series):
    """Where distributions list the providers."""
    text = "RoCE of virtio network devices"
    series.change("debian/control", insert_sorted, r"  - \w+: ", f"  - virtio_roce: {text}\n")
    series.change("debian/copyright", lambda old: edit(old, ((
        "Files: providers/vmw_pvrdma/*\n",
        piece("provider", "copyright") + "\nFiles: providers/vmw_pvrdma/*\n"),), "debian/copyright"))
    for spec in ("redhat/rdma-core.spec", "suse/rdma-core.spec"):
        series.change(spec, insert_sorted, r"- lib\w+: ", f"- libvirtio_roce: {text}\n")
    series.commit(piece("provider", "packaging.txt"))


def provider_series(tree, out):
    """Writes the series."""
    series = Series("rdma-core", tree, out, "PATCH rdma-core")
    series.base("kernel-headers/rdma/ib_user_ioctl_verbs.h", "kernel-headers/CMakeLists.txt",
                "CMakeLists.txt", "libibverbs/verbs.h", "MAINTAINERS", "README.md",
                "debian/control", "debian/copyright", "redhat/rdma-core.spec",
                "suse/rdma-core.spec")
    add_headers(series)

    files = provider_files()
    for part, names in distribute(files, PARTS):
        for name in names:
            series.add(f"{PROVIDER}/{name}", files[name])
        series.commit(piece("provider", f"{part}.txt"))

    series.add(f"{PROVIDER}/CMakeLists.txt", cmake_lists())
    series.add(f"{PROVIDER}/libvirtio_roce.map", head("provider/libvirtio_roce.map"))
    series.change("CMakeLists.txt", lambda text: edit(text, ((
        "add_subdirectory(providers/vmw_pvrdma)\n",
        f"add_subdirectory({PROVIDER})\nadd_subdirectory(providers/vmw_pvrdma)\n"),),
        "CMakeLists.txt"))
    series.change("libibverbs/verbs.h", insert_sorted,
                  r"extern const struct verbs_device_ops verbs_provider_(?!all|none|ionic)",
                  "extern const struct verbs_device_ops verbs_provider_virtio_roce;\n")
    series.change("README.md", insert_sorted, r" - (?:siw|vmw_pvrdma)\.ko", " - virtio_roce.ko\n")
    series.change("MAINTAINERS", lambda text: edit(text, ((
        "VMWARE PVRDMA USERSPACE PROVIDER",
        series.fill(piece("provider", "MAINTAINERS")) + "\nVMWARE PVRDMA USERSPACE PROVIDER"),),
        "MAINTAINERS"))
    series.commit(piece("provider", "build.txt"))
    add_packaging(series)
    return series.write(series.fill(piece("provider", "cover.txt")))

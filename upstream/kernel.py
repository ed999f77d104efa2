# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""The series for Linux: the RDMA driver, and virtio_net that has a device for it."""

import pathlib
import re
import subprocess
import tempfile

from flatten import Compat, FlattenError, ascii_only, edit, flatten
from series import REST, Series, distribute, head, head_files, insert, insert_block, insert_sorted, piece

DRIVER = "drivers/infiniband/hw/virtio_roce"
WIRE = "include/uapi/linux/virtio_net_roce.h"
AUX = "include/linux/virtio_net_roce_aux.h"
ABI = "include/uapi/rdma/virtio_roce-abi.h"
IDS = "include/uapi/rdma/ib_user_ioctl_verbs.h"

# Which files are a patch, in the order of the layers.
PARTS = (
    ("wire", ("vroce_wire.c", "vroce_wire.h", "vroce_layout.c")),
    ("commands", ("vroce_cmd.c", "vroce_cmd_cq.c", "vroce_cmd_qp.c", "vroce_cmd_mr.c",
                  "vroce_cmd_srq.c", "vroce_cmd_wq.c", "vroce_cmd_flow.c", "vroce_cmd_nvmf.c",
                  "vroce_trace.c", "vroce_trace.h")),
    ("objects", ("vroce_types.h", "vroce_caps.h", "vroce_obj.c", "vroce_kept.c", "vroce_users.c", "vroce_udata.c")),
    ("queues", ("vroce_queue.c", "vroce_ring.h", "vroce_form.c", "vroce_form.h", "vroce_mem.c",
                "vroce_doorbell.c")),
    ("user", ("vroce_user.c", "vroce_mmap.c")),
    ("memory", ("vroce_mr.c", "vroce_ah.c", "vroce_mcast.c")),
    ("cq", ("vroce_cq.c", "vroce_resize.c")),
    ("qp", ("vroce_qp.c", "vroce_hw_qp.c", "vroce_srq.c", "vroce_srq_resize.c",
            "vroce_domain.c")),
    ("post", ("vroce_kq.c", "vroce_post.c", "vroce_flush.c", "vroce_drain.c")),
    ("device", REST),
)

HEADERS = {
    "virtio_net_roce.h": "<linux/virtio_net_roce.h>",
    "virtio_net_roce_aux.h": "<linux/virtio_net_roce_aux.h>",
    "virtio_roce-abi.h": "<rdma/virtio_roce-abi.h>",
}

# The RFC's numbers are taken by the standard.  These are proposed, and not assigned yet.
NUMBERS = (
    (re.compile(r"/\*\n \* The bit number is also .*?\*/\n#define VIRTIO_NET_F_ROCE\t\t55\n\n"
                r"#define VIRTIO_NET_ROCE_CONFIG_SIZE\t32\n", re.S),
     """\
/*
 * This bit, the class of the control commands and the place in the device configuration
 * space are proposed.  The virtio technical committee has not assigned them.
 */
#define VIRTIO_NET_F_ROCE\t\t58

"""),
    (re.compile(r"(?<=#define VIRTIO_NET_ROCE_CONFIG_OFFSET\t)24$", re.M), "32"),
    (re.compile(r"(?<=#define VIRTIO_NET_ROCE_CONFIG_RINGS_OFFSET\t)32$", re.M), "40"),
    (re.compile(r"(?<=#define VIRTIO_NET_CTRL_ROCE\t\t)6$", re.M), "16"),
)

# Texts that are not true where the driver is part of the kernel.
EDITS = {
    "vroce_main.c": (
        (" * The lower module (virtio_net_roce) owns the PCI function, its virtqueues and\n"
         " * its interrupts, and publishes an auxiliary device, to which this driver binds.\n",
         " * virtio_net owns the virtio device, its virtqueues and its interrupts, and publishes an\n"
         " * auxiliary device, to which this driver binds.\n"),
        ("uapi/virtio_net_roce.h: layout", "include/uapi/linux/virtio_net_roce.h: layout"),
        (".driver_id = (enum rdma_driver_id)VIRTIO_ROCE_DRIVER_ID",
         ".driver_id = RDMA_DRIVER_VIRTIO_ROCE"),
        ('MODULE_SOFTDEP("pre: virtio_net_roce");', 'MODULE_SOFTDEP("pre: virtio_net");'),
    ),
    "vroce_counters.c": (
        (" * uapi/virtio_net_roce_counters.h.", " * vroce_counter_names.h."),
        ('#include "virtio_net_roce_counters.h"', '#include "vroce_counter_names.h"'),
    ),
    "vroce_trace.h": (
        ("  A device is named by its PCI function, as the\n"
         " * tracepoints of virtio_net_roce name it.\n", "  A device is named by its PCI function.\n"),
    ),
    "vroce_queue.c": ((" * The rings belong to the lower module and stay",
                       " * The rings belong to virtio_net and stay"),),
    "vroce_types.h": ((" * @aux: the lower module's part", " * @aux: virtio_net's part"),),
    "vroce_cq.c": (("/* Without a control block the lower module looks for completions. */",
                    "/* Without a control block virtio_net looks for completions. */"),),
    # A compat header refers to these two elsewhere.
    "vroce_gate.c": (
        ("\nVROCE_GATED_MR(reg_user_mr, vroce_udata_context(udata),\n"
         "\t       (struct ib_pd *ibpd, u64 start, u64 length, u64 virt_addr, int access,\n"
         "\t\tstruct ib_udata *udata),\n"
         "\t       (ibpd, start, length, virt_addr, access, udata))\n",
         "\nstatic VROCE_GATED_MR(reg_user_mr, vroce_udata_context(udata),\n"
         "\t\t      (struct ib_pd *ibpd, u64 start, u64 length, u64 virt_addr, int access,\n"
         "\t\t       struct ib_udata *udata),\n"
         "\t\t      (ibpd, start, length, virt_addr, access, udata))\n"),
        ("\nVROCE_GATED_MR(reg_user_mr_dmabuf, vroce_udata_context(udata),\n"
         "\t       (struct ib_pd *ibpd, u64 offset, u64 length, u64 virt_addr, int fd, int access,\n"
         "\t\tstruct ib_udata *udata),\n"
         "\t       (ibpd, offset, length, virt_addr, fd, access, udata))\n",
         "\nstatic VROCE_GATED_MR(reg_user_mr_dmabuf, vroce_udata_context(udata),\n"
         "\t\t      (struct ib_pd *ibpd, u64 offset, u64 length, u64 virt_addr, int fd,\n"
         "\t\t       int access, struct ib_udata *udata),\n"
         "\t\t      (ibpd, offset, length, virt_addr, fd, access, udata))\n"),
    ),
    # The core disassociates contexts, so no module has to stay.
    "vroce_user.c": (
        (" * The context keeps both modules loaded.  If the function is unplugged, the\n"
         " * context is disassociated, which ends that.\n *\n", ""),
        ("\tif (!try_module_get(dev->aux->owner))\n\t\tgoto err_gate;\n"
         "\tif (!try_module_get(THIS_MODULE))\n\t\tgoto err_lower;\n\treturn 0;\n\n"
         "err_lower:\n\tmodule_put(dev->aux->owner);\nerr_gate:\n"
         "\tvroce_gate_exit(vuctx);\n\treturn -ENODEV;\n", "\treturn 0;\n"),
        ("\tmodule_put(THIS_MODULE);\n\tmodule_put(to_vdev(uctx->device)->aux->owner);\n", ""),
        ("#include <linux/module.h>\n", ""),
    ),
}

AUX_EDITS = (
    (" * The interface between the module that owns the PCI function (virtio_net_roce) and\n"
     " * the RDMA driver (virtio_roce): an auxiliary device with a table of operations.\n",
     " * The interface between virtio_net, with its part for RoCE (virtio_net_roce), and the\n"
     " * RDMA driver (virtio_roce): an auxiliary device with a table of operations.\n"),
    (" * The lower module knows queues and commands, but no verbs.  The upper module knows\n"
     " * verbs, but no PCI.  Tests give the RDMA driver a device with their own table.\n",
     " * virtio_net knows queues and commands, but no verbs.  The RDMA driver knows verbs, but\n"
     " * no virtio device.\n"),
    (" * @owner: module that must stay while a user has the RDMA device open\n", ""),
    ("\tstruct module *owner;\n", ""),
)


def defined_by(tree):
    """The findings of include/compat.mk in a kernel's headers, as a function for flatten."""
    with tempfile.TemporaryDirectory() as place:
        makefile = pathlib.Path(place, "Makefile")
        makefile.write_text(head("include/compat.mk") + "\nall: ; @echo $(ccflags-y)\n")
        flags = subprocess.run(["make", "-s", "-f", makefile, f"srctree={tree}"],
                               check=True, stdout=subprocess.PIPE, text=True).stdout
    found = set(re.findall(r"-D(VNR_HAVE_\w+)", flags))
    return lambda name: name in found if name.startswith("VNR_HAVE_") else None


def move_includes(text):
    """Includes our headers by their places in the kernel, among the others."""
    wanted = []
    for name, place in HEADERS.items():
        text, count = re.subn(rf'^#include "{name}"\n', "", text, flags=re.M)
        if count:
            wanted.append(f"#include {place}\n")
    for line in wanted:
        text = include(text, line.split()[1])
    return re.sub(r"\n{3,}", "\n\n", text)


def include(text, header):
    """Includes a header of the kernel, among the others."""
    wanted = [f"#include {header}\n"]
    block = re.search(r"^(?:#include <.*>\n)+", text, re.M)
    if block:
        lines = sorted(set(block[0].splitlines(keepends=True) + wanted))
        text = text[:block.start()] + "".join(lines) + text[block.end():]
    else:
        local = re.search(r'^#include "', text, re.M)
        place = local.start() if local else text.index("\n\n") + 2
        text = text[:place] + wanted[0] + "\n" + text[place:]
    return text


def wire_header(rfc_numbers=False):
    """The wire format, and the assertions about its layout by themselves."""
    text = ascii_only(head("uapi/virtio_net_roce.h"))
    text, count = re.subn(r"#ifdef __KERNEL__\n.*?#endif\n", "", text, flags=re.S)
    text, macros = re.subn(r"#define VNR_ASSERT_\w+\([^)]*\) \\\n(?:.*\\\n)*.*\n", "", text)
    assertions = re.findall(r"^(VNR_ASSERT_\w+\([^;]*\);)\n", text, re.M)
    text = re.sub(r"^VNR_ASSERT_\w+\([^;]*\);\n\n?", "", text, flags=re.M)
    text = re.sub(r" \(Documentation/[\w.-]*\)( *)", lambda m: " " * (len(m[0])), text)
    text = re.sub(r"\n{3,}", "\n\n", text)
    if count != 1 or macros != 2 or "VNR_" in text:
        raise FlattenError("the asserts of uapi/virtio_net_roce.h are not as expected")
    text = edit(text, ((" * Only this file defines the wire format.  Kernel modules, rdma-core provider, device\n"
                        " * and tests include it and do not define any of it again.  The layout\n"
                        " * is that of the RFC v2 of VIRTIO_NET_F_ROCE (May 2022), in which enumerations\n"
                        " * count from 0 in the order given there.\n",
                        " * The layout is that of the RFC v2 of VIRTIO_NET_F_ROCE (May 2022), in which\n"
                        " * enumerations count from 0 in the order given there.\n"),), WIRE)
    if not rfc_numbers:
        for pattern, new in NUMBERS:
            text, count = pattern.subn(new, text)
            if count != 1:
                raise FlattenError(f"{WIRE}: {count} times: {pattern.pattern}")
    return edit(text, (("/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */",
                        "/* SPDX-License-Identifier: "
                        "((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */"),), WIRE), assertions


def abi_header():
    """The header with which the driver talks to its provider."""
    text = ascii_only(head("uapi/virtio_roce-abi.h"))
    text, count = re.subn(r"/\*\n \* In-tree drivers have small numbers.*?"
                          r"#define VIRTIO_ROCE_DRIVER_ID\t+\w+\n\n", "", text, flags=re.S)
    if count != 1:
        raise FlattenError("VIRTIO_ROCE_DRIVER_ID is not where it is expected")
    return edit(text, (
        (" (virtio_net_roce.h)", " (linux/virtio_net_roce.h)"),
        ("/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */",
         "/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB) */"),
    ), ABI)


def object_allocations(text):
    """Older kernels do not have kzalloc_obj()."""
    text = re.sub(r"\b(\w+) = kzalloc\(sizeof\(\*\1\), GFP_KERNEL\)", r"\1 = kzalloc_obj(*\1)", text)
    return re.sub(r"\b(\w+) = kzalloc\(sizeof\(\*\1\), ", r"\1 = kzalloc_obj(*\1, ", text)


UDATA = r"vroce_(?:udata_in|udata_out|check_udata)"

# The last member that a request had in the first version of the ABI.
FIRST_END = {"vroce_user.c": "features", "vroce_srq_resize.c": "reserved",
             "vroce_qp.c": "reserved"}


def core_udata(text, name):
    """The core does here what the driver does for requests and responses of a provider."""
    text = re.sub(rf"/\*\*\n \* {UDATA}\(\) - (?:(?!\*/).)*?\*/\nint {UDATA}\([^{{]*\n"
                  r"\{\n.*?^\}\n\n", "", text, flags=re.S | re.M)
    text = re.sub(rf"^int {UDATA}\([^;]*;\n", "", text, flags=re.M)
    text = re.sub(r"vroce_udata_out\(udata, &(\w+), sizeof\(\1\)\)",
                  r"ib_respond_udata(udata, \1)", text)
    text = re.sub(r"vroce_udata_in\(udata, &(\w+), 0, sizeof\(\1\)\)",
                  lambda match: f"ib_copy_validate_udata_in(udata, {match[1]}, {FIRST_END[name]})",
                  text)
    text = re.sub(r"vroce_udata_in\(udata, (\w+), offsetofend\(typeof\(\*\1\), (\w+)\),\s*"
                  r"sizeof\(\*\1\)\)", r"ib_copy_validate_udata_in(udata, *\1, \2)", text)
    text = re.sub(r"vroce_check_udata\(udata, 0\)", "ib_no_udata_io(udata)", text)
    text = re.sub(r"vroce_check_udata\(udata,\s*offsetofend\([^()]*(?:\(\w+\))?[^()]*\)\)",
                  "ib_is_udata_in_empty(udata)", text)
    if left := re.search(UDATA, text):
        raise FlattenError(f"{name}: left: {left[0]}")
    if re.search(r"\bib_(?:respond_udata|copy_validate_udata_in|no_udata_io|is_udata_in_empty)\(",
                 text):
        text = include(text, "<rdma/uverbs_ioctl.h>")
    return text


def has_core_udata(tree):
    """Linux has it since 7.1."""
    return "ib_respond_udata(" in (tree / "include/rdma/uverbs_ioctl.h").read_text()


def head_number():
    """The driver's number out of tree."""
    return " = " + re.search(r"#define VIRTIO_ROCE_DRIVER_ID\t+(\w+)", head("uapi/virtio_roce-abi.h"))[1]


def layout(assertions):
    """The assertions as a file of the driver."""
    lines = []
    for line in assertions:
        kind, inner = re.fullmatch(r"VNR_ASSERT_(\w+)\((.*)\);", line, re.S).groups()
        parts = [part.strip() for part in inner.split(",")]
        if kind == "SIZE":
            lines.append(f"SIZE({parts[0].removeprefix('struct ')}, {parts[1]});")
        else:
            lines.append(f"AT({parts[0].removeprefix('struct ')}, {parts[1]}, {parts[2]});")
    return piece("kernel", "vroce_layout.c") + "\n".join(lines) + "\n"


def makefile():
    """The driver's Makefile without what is for several kernels."""
    lines = [line for line in head(f"{DRIVER}/Makefile").splitlines()
             if not re.match(r"include |ccflags-y", line)]
    text = "\n".join(lines).replace("obj-m +=", "obj-$(CONFIG_INFINIBAND_VIRTIO_ROCE) +=")
    return re.sub(r"\n{3,}", "\n\n", text) + "\nvirtio_roce-y += vroce_layout.o\n"


def driver_files(tree, assertions):
    """All files of the driver as the kernel has them."""
    defined = defined_by(tree)
    compat = Compat.read(head("include/virtio_net_roce_compat.h") +
                         head("include/virtio_roce_compat.h"), defined)
    files = {"vroce_layout.c": layout(assertions),
             "vroce_counter_names.h": ascii_only(head("uapi/virtio_net_roce_counters.h"))}
    for name in head_files(DRIVER, r".*\.[ch]"):
        text = flatten(head(f"{DRIVER}/{name}"), compat, defined, name)
        text = edit(text, EDITS.get(name, ()), name)
        if has_core_udata(tree):
            text = core_udata(text, name)
        files[name] = object_allocations(move_includes(text))
    return files


def add_virtio_net(series, wire):
    """virtio_net: its control queue for two, the wire format, the auxiliary device."""
    add = series.add
    add("drivers/net/virtio_net_cvq.h", piece("kernel", "virtio_net_cvq.h"))
    series.patch("kernel/cvq.diff")
    series.change("MAINTAINERS", lambda text: insert(
        text, r"F:\tdrivers/net/virtio_net\.c", "F:\tdrivers/net/virtio_net_cvq.h\n"))
    series.commit(piece("kernel", "cvq.txt"))

    add(WIRE, wire)
    series.change("MAINTAINERS", insert_block, "VIRTIO NET DRIVER",
                  series.fill(piece("kernel", "MAINTAINERS")))
    series.commit(piece("kernel", "wire-header.txt"))

    add(AUX, edit(ascii_only(head("include/virtio_net_roce_aux.h")), AUX_EDITS, AUX))
    for name in ("virtio_net_roce.c", "virtio_net_roce.h"):
        add(f"drivers/net/{name}", piece("kernel", name))
    series.patch("kernel/roce.diff")
    series.change("drivers/net/Kconfig", lambda text: text.replace(
        "config NLMON\n", piece("kernel", "Kconfig.net") + "\nconfig NLMON\n", 1))
    series.change("drivers/net/Makefile", insert, re.escape("obj-$(CONFIG_VIRTIO_NET) += virtio_net.o"),
                  piece("kernel", "Makefile.net"))
    series.commit(piece("kernel", "roce.txt"))


def with_headers(files):
    """PARTS, with the header of each file."""
    return [(part, names if names is REST else tuple(dict.fromkeys(
        both for name in names for both in (name, name[:-2] + ".h")
        if both == name or both in files)))
            for part, names in PARTS]


def kernel_series(tree, out, rfc_numbers):
    """Writes the series.  With the RFC's numbers it is for tests only."""
    series = Series("linux", tree, out, "RFC PATCH")
    hw = "drivers/infiniband/hw/Makefile"
    kconfig = "drivers/infiniband/Kconfig"
    series.base("MAINTAINERS", "drivers/net/virtio_net.c", "drivers/net/Kconfig",
                "drivers/net/Makefile", IDS, hw, kconfig)
    wire, assertions = wire_header(rfc_numbers)
    add_virtio_net(series, wire)

    series.add(ABI, abi_header())
    number = head_number() if rfc_numbers else ""
    series.change(IDS, insert, "\tRDMA_DRIVER_IONIC,", f"\tRDMA_DRIVER_VIRTIO_ROCE{number},\n")
    series.commit(piece("kernel", "abi.txt"))

    files = driver_files(tree, assertions)
    for part, names in distribute(files, with_headers(files)):
        for name in names:
            series.add(f"{DRIVER}/{name}", files[name])
        series.commit(piece("kernel", f"{part}.txt"))

    series.add(f"{DRIVER}/Kconfig", piece("kernel", "Kconfig"))
    series.add(f"{DRIVER}/Makefile", makefile())
    series.change(hw, lambda text: text.rstrip("\n") +
                  "\nobj-$(CONFIG_INFINIBAND_VIRTIO_ROCE)\t+= virtio_roce/\n")
    series.change(kconfig, insert_sorted, r'source "drivers/infiniband/hw/',
                  f'source "{DRIVER}/Kconfig"\n')
    series.commit(piece("kernel", "build.txt"))
    return series.write(series.fill(piece("kernel", "cover.txt")))

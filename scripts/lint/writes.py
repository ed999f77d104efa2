#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Checks that the daemon writes to memory of a guest by the functions of
device/virtio/write.h only, which mark what they write in the log of a guest that is moved.

writes.py [--self-test] [TOP]

Prints a line for each violation; the exit status is 1 if there is one.  That the log is
whole is what the unit tests show (device/tests/lib/engine_dirty.c).
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Folders whose code has pointers to memory of a guest.
FOLDERS = ("ether", "function", "packet", "rdma", "vhost_user", "virtio")

# The functions themselves; the log is written beside the memory.
ALLOWED = ("virtio/write.h", "virtio/dirty.c")

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)

# Structures that only lie in memory of a guest.
SHARED = (r"struct\s+(?:vring_(?:desc|avail|used|used_elem)|"
          r"virtio_rdma_(?:cq|qp|srq)_control|virtio_rdma_doorbell_page)")

RULES = (
    (re.compile(r"\b__atomic_(?:store|exchange|compare|fetch|add|sub|and|or|xor|nand|"
                r"clear|test)\w*\s*\("),
     "an atomic store"),
    (re.compile(r"\bplace(?:_bytes)?\s*\("), "place()"),
    (re.compile(r"\bmem(?:cpy|move|set)\s*\([^,;]*(?:iov_base|iov_ptr|->host|block_host|"
                r"pages_ptr|guest_mem_ptr|mr_at|cq_slot|wq_slot|srq_slot)"),
     "a copy"),
    (re.compile(r"(?:\b(?:desc|avail|used)->\w+(?:\[[^\]]*\])?(?:\.\w+)?|"
                r"\bblock_host\([^;=]*\)->\w+|\b(?:cq_block|wq_block|doorbell_page)"
                r"\([^;=]*\)->\w+(?:\[[^\]]*\])?)\s*(?:[-+|&^]|<<|>>)?=[^=]"),
     "an assignment"),
)

POINTER = re.compile(r"(?<!const )\b" + SHARED + r"\s*\*\s*(\w+)\s*[=;,)]")


def function_bodies(text):
    """Begin and end of each function, by the braces in the first column."""
    at = 0
    while True:
        begin = text.find("\n{", at)
        if begin < 0:
            return
        end = text.find("\n}", begin)
        end = len(text) if end < 0 else end
        head = text.rfind("\n\n", 0, begin)
        yield max(head, 0), end
        at = end


def findings(text):
    """Offset and name of each write that is none of the functions'."""
    for pattern, what in RULES:
        for match in pattern.finditer(text):
            yield match.start(), what
    for begin, end in function_bodies(text):
        for pointer in POINTER.finditer(text, begin, end):
            store = re.compile(r"\b" + pointer.group(1) + r"->\w+(?:\[[^\]]*\])?(?:\.\w+)?"
                               r"\s*(?:[-+|&^]|<<|>>)?=[^=]")
            for match in store.finditer(text, begin, end):
                yield match.start(), "an assignment"


def check(top):
    """Looks at all files; returns the lines to print."""
    lines = []
    device = os.path.join(top, "device")
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(device, folder)):
            for name in sorted(names):
                full = os.path.join(path, name)
                if not name.endswith((".c", ".h")) or os.path.relpath(full, device) in ALLOWED:
                    continue
                with open(full, encoding="utf-8") as file:
                    text = file.read()
                text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
                for at, what in sorted(set(findings(text))):
                    lines.append(f"error: {os.path.relpath(full, top)}:"
                                 f"{text.count(chr(10), 0, at) + 1}: {what}, where only "
                                 "device/virtio/write.h writes to memory of a guest")
    return lines


BAD = (
    "__atomic_store_n(&block->device, 1, __ATOMIC_RELAXED);",
    "__atomic_fetch_or(p, 1, __ATOMIC_SEQ_CST);",
    "place(to, from, len);",
    "memcpy(iov[0].iov_base, from, len);",
    "memset(block_host(&cq->block), 0, 64);",
    "vq->used->idx = 1;",
    "vq->used->ring[i].id = 1;",
    "cq_block(cq)->device = 1;",
    "struct virtio_rdma_cq_control *block = cq_block(cq);\n\n\tblock->device = 1;",
    "struct vring_used_elem *e = p;\n\n\te->id |= 1;",
)
GOOD = (
    "write_u32(&block->device, 1);",
    "x = __atomic_load_n(&block->device, __ATOMIC_RELAXED);",
    "memcpy(&copy, iov[0].iov_base, len);",
    "const struct virtio_rdma_cq_control *block = cq_block(cq);\n\n\tx = block->arm == 1;",
    "if (vq->used->idx == 1)\n\t\treturn;",
    "/* place(to, from, len); */",
)


def self_test(_top):
    """Each of BAD is found and nothing of GOOD is."""
    lines = []
    for wanted, codes in ((True, BAD), (False, GOOD)):
        for code in codes:
            text = COMMENT.sub("", f"\n\nstatic void f(void)\n{{\n\t{code}\n}}\n")
            if bool(list(findings(text))) != wanted:
                lines.append(f"error: {'not found' if wanted else 'found'}: {code}")
    return lines


def main():
    """Prints what is wrong."""
    args = sys.argv[1:]
    run = check
    if args[:1] == ["--self-test"]:
        run = self_test
        args = args[1:]
    lines = run(args[0] if args else TOP)
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Checks Documentation/spec.rst.

spec.py [--update | --self-test]

- The listings of Annex A are those of uapi/virtio_net_roce.h; --update writes them.
- A table of offsets and sizes says what the structure of the header has.
- Words of requirement are in sections of requirements only, each of which has a label and
  such a word; the chapter on conformance has each label once.
- What the text refers to is there.

Prints a line for each fault; the exit status is 1 if there is one.
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPEC = os.path.join(TOP, "Documentation", "spec.rst")
HEADER = os.path.join(TOP, "uapi", "virtio_net_roce.h")

TYPES = {"__u8": ("u8", 1), "__le16": ("le16", 2), "__le32": ("le32", 4),
         "__le64": ("le64", 8), "__be16": ("be16", 2), "__be32": ("be32", 4)}
WORDS = re.compile(r"\b(MUST|SHOULD|MAY)\b")
# Sections that speak of the words, and chapters that list labels.
FREE = ("Words of requirement", "Conformance")
ANNEX = "Annex A: listings"

# Such lists, and the bytes of an element.
BEHIND = {"pages[]": 8, "wqn[]": 4}

# Sections whose tables are those of structures.
TABLES = {
    "Device configuration layout": ["config@24", "config_rings@32"],
    "QUERY_DEVICE": ["ack_query_device"],
    "QUERY_PORT": ["ack_query_port"],
    "GET_DMA_MR": ["cmd_get_dma_mr", "ack_mr"],
    "REG_USER_MR": ["cmd_reg_user_mr"],
    "CREATE_QP": ["cmd_create_qp", "qp_cap"],
    "MODIFY_QP": ["cmd_modify_qp"],
    "QUERY_QP": ["cmd_query_qp", "ack_query_qp"],
    "CREATE_AH": ["cmd_create_ah", "ack_create_ah"],
    "DESTROY_AH": ["cmd_destroy_ah"],
    "ADD_GID": ["cmd_add_gid"],
    "REQ_NOTIFY_CQ": ["cmd_req_notify"],
    "Payload": ["sge"],
    "Slots": ["sq_req", "rq_req", "cq_req"],
    "Address vector": ["ah_attr"],
    "ALLOC_MR": ["cmd_alloc_mr", "ack_mr"],
    "REREG_MR": ["cmd_rereg_mr"],
    "REREG_MR_LONG": ["cmd_rereg_mr_long"],
    "ALLOC_MW": ["cmd_alloc_mw"],
    "Events": ["event"],
    "Control block of a CQ": ["cq_control"],
    "CREATE_CQ, long form": ["cmd_create_cq_long"],
    "Direct completions": ["cqe"],
    "Completions with their time": ["cqe_timed"],
    "MODIFY_CQ": ["cmd_modify_cq"],
    "RESIZE_CQ": ["cmd_resize_cq", "ack_resize_cq"],
    "Work queues in direct form": ["swqe", "xrc@40", "rwqe"],
    "Control block of a QP": ["qp_control"],
    "CREATE_QP, long form": ["qp_direct@40"],
    "Doorbells": ["doorbell_page"],
    "Fields of a frame": ["flow_match"],
    "CREATE_FLOW": ["cmd_create_flow"],
    "QUERY_FLOW": ["ack_query_flow"],
    "CREATE_FLOW_LONG": ["cmd_create_flow_long"],
    "CREATE_WQ_TABLE": ["cmd_create_wq_table"],
    "CREATE_RX_HASH_QP": ["cmd_create_rx_hash_qp"],
    "QUERY_NVMF": ["ack_query_nvmf"],
    "QUERY_NAMESPACE": ["cmd_query_namespace", "ack_query_namespace"],
    "SET_SRQ_NVMF": ["cmd_set_srq_nvmf", "region"],
    "CREATE_NVME_CTRL": ["cmd_create_nvme_ctrl"],
    "MAP_NSID": ["cmd_map_nsid"],
    "UNMAP_NSID": ["cmd_unmap_nsid"],
    "SET_QP_NVMF": ["cmd_set_qp_nvmf"],
    "ALLOC_DOORBELL": ["cmd_alloc_doorbell", "ack_alloc_doorbell"],
    "Control block of an SRQ": ["srq_control"],
    "CREATE_SRQ": ["cmd_create_srq"],
    "MODIFY_SRQ": ["cmd_modify_srq"],
    "QUERY_SRQ": ["ack_query_srq"],
    "RESIZE_SRQ": ["cmd_resize_srq"],
    "CREATE_XRC_SRQ": ["cmd_create_srq", "cmd_create_xrc_srq"],
    "QUERY_COUNTERS": ["ack_query_counters"],
    "QUERY_QP_COUNTERS": ["cmd_query_qp_counters", "ack_query_counters"],
    "ATTACH_MCAST": ["cmd_mcast"],
    # Where the operands begin in either form.
    "Operands": ["sq_req@-16", "swqe@-8"],
}


def read(path):
    """The text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


# ---------------------------------------------------------------------------
# The header
# ---------------------------------------------------------------------------

def code_of(header):
    """The structures, enumerations and numbers, without comments."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    found = []
    for match in re.finditer(
            r"^(?:struct|enum) \w+ \{.*?^\};|^#define[ \t]+VIRTIO_\w+[ \t]+[^\n]+",
            text, re.S | re.M):
        found.append(match.group(0))
    return found


def listing(header):
    """The lines of Annex A."""
    lines = []
    last = None
    for piece in code_of(header):
        kind = piece.split()[0]
        if lines and not kind == last == "#define":
            lines.append("")
        last = kind
        for line in piece.split("\n"):
            line = re.sub(r"__(u8|le16|le32|le64|be32)\b", r"\1", line.rstrip())
            if not line:
                continue
            line = re.sub(r"^\t+", lambda m: "        " * len(m.group(0)), line)
            name, tabs, rest = re.match(r"(.*?)(\t+)?((?<=\t).*)?$", line).groups()
            lines.append(f"{name:<48}{rest}" if tabs else line)
    return lines


def number(text, names):
    """The value of a constant expression."""
    text = re.sub(r"\b[A-Z]\w+\b", lambda m: str(number(names[m.group(0)], names)), text)
    if not re.fullmatch(r"[0-9a-fA-FxX()+*/<\- ]+", text):
        raise ValueError(text)
    return eval(text.replace("/", "//"))  # numbers and operators only


class Layout:
    """Offsets and sizes of the fields of each structure."""

    def __init__(self, header):
        self.names = {}
        self.fields = {}
        self.sizes = {}
        for piece in code_of(header):
            words = piece.split(None, 2)
            if words[0] == "#define":
                self.names[words[1]] = words[2]
            elif words[0] == "struct":
                body = piece[piece.index("{") + 1:piece.rindex("}")]
                fields = {}
                self.sizes[words[1]] = self.body(body, 0, "", fields, False)
                self.fields[words[1]] = fields

    def body(self, text, base, prefix, fields, union):
        """Fills in the fields of a body; returns its size."""
        at = 0
        end = 0
        pos = 0
        piece = re.compile(r"\s*(?:(struct|union)\s*\{|([^;{}]+);)")
        while text[pos:].strip():
            match = piece.match(text, pos)
            pos = match.end()
            start = 0 if union else at
            if match.group(1):
                depth = 1
                begin = pos
                while depth:
                    depth += {"{": 1, "}": -1}.get(text[pos], 0)
                    pos += 1
                name = re.compile(r"\s*(\w*)\s*;").match(text, pos)
                inner = prefix + (name.group(1) + "." if name.group(1) else "")
                size = self.body(text[begin:pos - 1], base + start, inner, fields,
                                 match.group(1) == "union")
                pos = name.end()
            else:
                size = self.field(match.group(2), base + start, prefix, fields)
            at = start + size
            end = max(end, at)
        return end

    def field(self, text, base, prefix, fields):
        """A field; returns its size."""
        kind, name, count = re.match(r"\s*((?:struct )?\w+)\s+(\w+)(\[.*\])?$",
                                     text).groups()
        one = TYPES[kind][1] if kind in TYPES else self.sizes[kind.split()[1]]
        if kind not in TYPES:
            for inner, (off, size) in self.fields[kind.split()[1]].items():
                fields[f"{prefix}{name}.{inner}"] = (base + off, size)
        each = count is not None
        number_of = number(count[1:-1], self.names) if each and count != "[]" else 0
        size = one * number_of if each else one
        fields[prefix + name] = (base, size)
        if each and kind not in ("__u8",):
            fields[prefix + name + "[]"] = (base, one)
        return size


# ---------------------------------------------------------------------------
# The document
# ---------------------------------------------------------------------------

class Section:
    """A heading and what is below it, up to the next heading."""

    def __init__(self, title, line, label):
        self.title = title
        self.line = line
        self.label = label
        self.lines = []
        self.chapter = title


def sections(text):
    """All sections of a document, in order."""
    lines = text.split("\n")
    found = [Section("", 1, None)]
    chapter = ""
    for i, line in enumerate(lines):
        under = lines[i + 1] if i + 1 < len(lines) else ""
        if (line and not line.startswith((" ", "=", "-", "~", "+")) and
                re.fullmatch(r"([=\-~+])\1+", under) and len(under) >= len(line)
                and (i == 0 or not lines[i - 1].strip() or lines[i - 1] == under)):
            label = re.match(r"\.\. _([\w-]+):", lines[i - 2]) if i > 1 else None
            found.append(Section(line, i + 1, label.group(1) if label else None))
            if under[0] == "=":
                chapter = line
        found[-1].chapter = chapter
        found[-1].lines.append(line)
    return found


def prose(section):
    """Its lines with their numbers, without literal blocks."""
    literal = None
    for i, line in enumerate(section.lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None:
            yield section.line + i, line
        if line.rstrip().endswith("::") and literal is None:
            literal = indent


def tables(section):
    """The tables of a section: rows of cells below the heads, by the columns' borders."""
    found = []
    rows = None
    borders = 0
    for line in section.lines:
        if re.fullmatch(r"=+( +=+)+", line):
            if rows is None or borders == 3:
                rows = []
                borders = 0
                columns = [m.span() for m in re.finditer(r"=+", line)]
                found.append(rows)
            borders += 1
            if borders == 3:
                rows = None
        elif rows is not None and borders == 2 and line.strip():
            cells = [line[begin:end if end != columns[-1][1] else None].strip()
                     for begin, end in columns]
            more = not cells[0] or cells[0] == "\\"
            if not more:
                rows.append(cells)
            elif rows:
                cells[0] = ""
                rows[-1] = [(a + " " + b).strip() for a, b in zip(rows[-1], cells)]
    return found


def check_words(found):
    """Words of requirement and labels."""
    labels = {}
    for section in found:
        match = re.match(r"(Driver|Device) requirements: ", section.title)
        words = [n for n, line in prose(section) if WORDS.search(line)]
        if not match:
            if words and not set((section.title, section.chapter)) & set(FREE):
                yield f"spec.rst:{words[0]}: a word of requirement in \"{section.title}\""
            continue
        if not words:
            yield f"spec.rst:{section.line}: requirements without MUST, SHOULD and MAY"
        if not section.label or not section.label.startswith(match.group(1).lower() + "-"):
            yield f"spec.rst:{section.line}: requirements without a label"
        labels[section.label] = 0
    for section in found:
        if section.chapter == "Conformance":
            for label in re.findall(r"`((?:driver|device)-[\w-]+)`_",
                                    "\n".join(section.lines)):
                side = section.title.split()[0].lower()
                labels[label] = labels.get(label, 0) + 1
                if not label.startswith(side):
                    yield f"spec.rst:{section.line}: {label} is not of this side"
    for label, n in labels.items():
        if n != 1:
            yield f"spec.rst: conformance names {label} {n} times"


def check_references(found):
    """Each reference has a target."""
    titles = {section.title.lower() for section in found}
    titles |= {section.label for section in found if section.label}
    for section in found:
        for line in re.findall(r"(?<!`)`([^`]+)`_", " ".join(l for _, l in prose(section))):
            if " ".join(line.split()).lower() not in titles:
                yield f"spec.rst: \"{section.title}\" refers to \"{line}\", which is not there"


def row_fits(cells, layouts):
    """Does one of the structures have a field as the row says?  None if no row of one."""
    name = re.match(r"``([\w.]+)``", cells[2])
    off = re.match(r"\d+$", cells[0])
    size = re.match(r"(\d+)( each)?$", cells[1])
    if not name or not off or not size:
        return None
    key = name.group(1) + ("[]" if size.group(2) else "")
    if name.group(1) == "sg_list":
        key = "sg_list"
    for fields, base in layouts:
        spans = [span for field, span in fields.items() if field == key]
        if key in BEHIND:
            # Lists that the header has no member for are behind the structure.
            spans.append((max(at + length for at, length in fields.values()), BEHIND[key]))
        for begin, length in spans:
            if begin + base == int(off.group(0)) and (
                    length == int(size.group(1)) or key == "sg_list"):
                return True
    return False


def check_tables(found, layout):
    """Tables against structures."""
    for section in found:
        names = TABLES.get(section.title)
        if not names:
            continue
        layouts = []
        for entry in names:
            name, _, base = entry.partition("@")
            for prefix in ("virtio_rdma_", "virtio_net_roce_"):
                if prefix + name in layout.fields:
                    layouts.append((layout.fields[prefix + name], int(base or 0)))
        rows = [cells for table in tables(section) for cells in table
                if len(cells) >= 3]
        fits = [row_fits(cells, layouts) for cells in rows]
        if True not in fits:
            yield f"spec.rst:{section.line}: no table with fields of {names}"
        for cells, good in zip(rows, fits):
            if good is False:
                yield (f"spec.rst:{section.line}: {cells[2].split()[0]} at {cells[0]}, "
                       f"{cells[1]} bytes, is not so in {names}")


def with_listing(text, lines):
    """The document with these lines in the annex."""
    head, rest = text.split(ANNEX + "\n", 1)
    begin = rest.index("\n::\n") + 5
    end = re.compile(r"^\S", re.M).search(rest, begin).start()
    block = "".join(f"   {line}\n" if line else "\n" for line in lines)
    return head + ANNEX + "\n" + rest[:begin] + block + "\n" + rest[end:]


def check(text, header):
    """All faults."""
    found = sections(text)
    yield from check_words(found)
    yield from check_references(found)
    yield from check_tables(found, Layout(header))
    if with_listing(text, listing(header)) != text:
        yield "spec.rst: the listings are not those of the header: spec.py --update"


# Texts put in the place of others, and what the check then says.
FAULTS = (
    ("There is one port, number 1", "There MUST be one port, number 1",
     "a word of requirement"),
    (".. _device-framing:\n", "", "without a label"),
    ("    `driver-xrc`_\n", "    \n", "driver-xrc 0 times"),
    ("`Lists outside of the command`_", "`Lists out of the command`_", "is not there"),
    ("104     4     ``max_srq``", "108     4     ``max_srq``", "``max_srq`` at 108"),
    ("20      4     ``bind.key``", "16      4     ``bind.key``", "``bind.key`` at 16"),
    ("6       2        ``event_vq``", "6       4        ``event_vq``", "``event_vq`` at 6"),
    ("le16 event_vq;", "le32 event_vq;", "listings"),
)


def self_test(text, header):
    """Each fault is found."""
    for old, new, why in FAULTS:
        if old not in text:
            yield f"error: self-test: \"{old.strip()}\" is not in the text"
        elif not any(why in line for line in check(text.replace(old, new, 1), header)):
            yield f"error: self-test: not found: {why}"


def main():
    """Returns the exit status."""
    text = read(SPEC)
    header = read(HEADER)
    if sys.argv[1:] == ["--update"]:
        with open(SPEC, "w", encoding="utf-8") as file:
            file.write(with_listing(text, listing(header)))
        return 0
    run = self_test if sys.argv[1:] == ["--self-test"] else check
    found = ["error: " + line.replace("error: ", "") for line in run(text, header)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

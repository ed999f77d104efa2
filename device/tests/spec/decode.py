#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Decodes what the engine tests say and hear, by Documentation/spec.rst alone.

decode.py [--all] PROGRAM...

Each program runs with EG_DUMP (tests/lib/dump.c).  Layouts, opcodes, flags, lengths and the
state table are read from the tables of the document; nothing here has an offset.  Each
command must then be as long as its section says, name objects that exist, and be answered
with what its section says; each completion must fit its request.

Prints a test for each program as cmocka does.  Another one puts faults into the document, each
of which must be noticed.  With --all the programs must also have said, together, each command,
opcode, completion, status and event that the document has.
"""

import collections
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))


def load(name):
    """A script of the repository as a module."""
    path = os.path.join(TOP, "scripts", name)
    loader = importlib.machinery.SourceFileLoader("check_spec", path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("check_spec", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


check_spec = load("lint/spec.py")


class Wrong(Exception):
    """A field is not as the document says."""


def need(good, why):
    """Something that the document says."""
    if not good:
        raise Wrong(why)


# ---------------------------------------------------------------------------
# The document
# ---------------------------------------------------------------------------

class Shape:
    """Fields of a structure by a table: name, offset, size, and whether it repeats."""

    def __init__(self, rows=()):
        self.fields = []
        self.list_at = None
        for off, size, name in rows:
            each = re.fullmatch(r"(\d+) each", size)
            if each:
                self.list_at = int(off)
                self.each = int(each.group(1))
                continue
            self.fields.append((name, int(off), int(size)))

    @property
    def base(self):
        """Bytes without what repeats."""
        return max([off + size for _, off, size in self.fields] or [0])

    def decode(self, data):
        """Values of the fields; fields that the bytes do not reach are 0."""
        return {name: int.from_bytes(data[off:off + size], "little")
                for name, off, size in self.fields}

    def check_reserved(self, data, what):
        """Reserved fields and padding are zero."""
        for name, off, size in self.fields:
            if re.match(r"(reserved|padding)", name):
                need(not any(data[off:off + size]), f"{what}: {name} is not zero")


def rows_of(table):
    """Rows of a table of offsets; (offset, size, name, side)."""
    for cells in table:
        name = re.match(r"``([\w.]+)``(?: \((request|response)\))?", cells[2])
        if name and cells[0].isdigit() and re.fullmatch(r"\d+( each)?", cells[1]):
            yield (cells[0], cells[1], name.group(1)), name.group(2)


class Spec:
    """The tables of the document, as far as the bytes of messages go."""

    def __init__(self, text):
        self.sections = {}
        found = check_spec.sections(text)
        for section in found:
            self.sections.setdefault(section.title, section)
        self.xrc_states = [s for s in found
                           if s.title == "States" and s.chapter.startswith("Extended")][0]
        self.commands = {}
        self.form_needs = {}
        self.read_commands()
        self.opcodes = {int(cells[0]): cells
                        for cells in self.table("Opcodes and flags", 0)}
        self.send_flags = self.bits("Opcodes and flags", 1)
        self.wc_opcodes = {int(cells[0]): cells[1:]
                           for cells in self.table("Completions", 1)}
        self.wc_flags = self.bits("Completions", 2)
        self.statuses = {}
        for i in (0, 1):
            for cells in self.table("Completion status", i):
                self.statuses[int(cells[0])] = cells[1]
        for value, name in re.findall(r"(\d+) \((\w+)\)",
                                      " ".join(self.sections["Completion status"].lines)):
            self.statuses[int(value)] = name
        self.events = {int(cells[0]): (cells[1], cells[2])
                       for cells in self.table("Events", 1)}
        self.states = {int(cells[0]): cells[1] for cells in self.table("States", 0)}
        self.attributes = self.read_attributes()
        self.types = {2: "RC", 3: "UC", 4: "UD", 1: "GSI", 8: "RAW_PACKET", 11: "WQ"}
        self.read_shapes()

    def table(self, title, n):
        """Table number n of a section."""
        return check_spec.tables(self.sections[title])[n]

    def bits(self, title, n):
        """All bits of a table of flags."""
        return sum(1 << int(cells[0]) for cells in self.table(title, n))

    def shape(self, title, n):
        """Table number n of a section as a structure."""
        return Shape([row for row, _ in rows_of(self.table(title, n))])

    def read_shapes(self):
        """Slots, completions, events."""
        self.sge = self.shape("Payload", 0)
        self.slot = {"send": self.shape("Slots", 1), "recv": self.shape("Slots", 2),
                     "swqe": self.shape("Work queues in direct form", 0),
                     "xrc": self.shape("Work queues in direct form", 1),
                     "rwqe": self.shape("Work queues in direct form", 2)}
        self.slot["srq"] = self.slot["rwqe"]
        self.operands = self.shape("Operands", 0)
        where = [cells for cells in self.table("Work requests", 0) if cells[0] == "operands"]
        self.operands_at = [int(re.match(r"offset (\d+)", cell).group(1))
                            for cell in where[0][1:]]
        self.wc = self.shape("Slots", 3)
        self.cqe = self.shape("Direct completions", 0)
        self.event = self.shape("Events", 0)
        self.caps = 0
        for cells in self.table("Capabilities", 0):
            if cells[0].isdigit():
                self.caps |= 1 << int(cells[0])

    def read_attributes(self):
        """Bits of attr_mask by name."""
        found = {}
        for cells in self.table("MODIFY_QP", 1):
            found[cells[1]] = int(cells[0])
            if len(cells) > 3 and cells[2].isdigit():
                found[cells[3]] = int(cells[2])
        return found

    def read_commands(self):
        """The list of commands, and the shapes of their requests and responses."""
        for cells in self.table("List of commands", 0):
            names = re.findall(r"`([^`]+)`_", cells[1])
            lengths = re.findall(r"(\d+)( \+ [48] × n)?", cells[2])
            answers = re.findall(r"\d+", cells[3])
            if not cells[0].isdigit() or not names:
                continue
            forms = []
            for name, length, answer in zip(names, lengths, answers):
                request, response = self.read_command(name)
                need(request.base == int(length[0]) or not request.fields or length[1],
                     f"{name}: its table has {request.base} bytes, the list {length[0]}")
                need(response.base == int(answer),
                     f"{name}: response of {response.base} bytes, the list has {answer}")
                forms.append((name, int(length[0]), bool(length[1]), request, response))
            self.commands[int(cells[0])] = forms
            self.form_needs[int(cells[0])] = cells[4] if len(cells) > 4 else ""

    def read_command(self, name):
        """Request and response of a command by its section."""
        section = self.sections[name]
        text = "\n".join(section.lines)
        rows = {"request": [], "response": []}
        for side in rows:
            for field, off, size in re.findall(
                    side.capitalize() + r": ``(\w+)``\s+\(offset (\d+), (\d+) bytes?\)",
                    text):
                rows[side].append((off, size, field))
        pieces = re.split(r"^=+(?: +=+)+$", text, flags=re.M)
        for table, before in zip(check_spec.tables(section), pieces[0::3]):
            side = "request"
            last = before.strip().split("\n\n")[-1]
            if re.search(r"[Tt]he response", last) and "is that of" not in last:
                side = "response"
            if "``struct virtio_rdma_qp_cap``" in last:
                continue
            if last.strip().endswith("numbers them:") or "attributes of IBA" in last:
                continue
            for row, own in rows_of(table):
                rows[own or side].append(row)
        if re.search(r"response\s+is\s+that\s+of\s+GET_DMA_MR", text):
            rows["response"] = self.read_command("GET_DMA_MR")[1].rows
        if re.search(r"request\s+is\s+that\s+of\s+ATTACH_MCAST", text):
            rows["request"] = self.read_command("ATTACH_MCAST")[0].rows
        if name == "CREATE_QP, long form":
            # "The first 40 bytes are those of CREATE_QP."
            rows["request"] = [row for row in self.read_command("CREATE_QP")[0].rows
                               if int(row[0]) < 40] + rows["request"]
        shapes = []
        for side in ("request", "response"):
            shape = Shape(rows[side])
            shape.rows = rows[side]
            shapes.append(shape)
        if name in ("QUERY_COUNTERS", "QUERY_QP_COUNTERS"):
            # 32 counters
            shapes[1].fields = [(f"value{i}", 8 * i, 8) for i in range(32)]
        return shapes

    def transition(self, old, new, kind):
        """Attributes that a transition needs and takes; None if there is none."""
        xrc = kind in ("XRC_INI", "XRC_TGT")
        for cells in self.table("State table", 0):
            froms = cells[0].replace("any but RESET", "INIT, RTR, RTS, SQD, SQE, ERR")
            types = {"all": ("RC", "UC", "UD", "GSI", "XRC_INI", "XRC_TGT", "RAW_PACKET"),
                     "conn": ("RC", "UC", "XRC_INI", "XRC_TGT"),
                     "dgram": ("UD", "GSI"), "raw": ("RAW_PACKET",),
                     "wq": ("WQ",)}.get(cells[2], (cells[2],))
            if old in froms.split(", ") and new == cells[1] and kind in types:
                return [{self.attributes[a] for a in re.findall(r"[A-Z_]+", text)}
                        for text in cells[3:5]]
        return self.xrc_transition(old, new, kind) if xrc else None

    def xrc_transition(self, old, new, kind):
        """The same from the table of XRC."""
        for cells in check_spec.tables(self.xrc_states)[0]:
            froms, to = cells[0].split(" → ")
            if old not in froms.split(", ") or new != to:
                continue
            text = cells[1 if kind == "XRC_INI" else 2]
            like = re.match(r"as (\w+)$", text)
            if like:
                return self.transition(old, new, like.group(1))
            must, _, may = text.partition("optional")
            return [{self.attributes[a] for a in re.findall(r"[A-Z_]+", part)}
                    for part in (must, may)]
        return self.transition(old, new, "RC")


# ---------------------------------------------------------------------------
# A guest
# ---------------------------------------------------------------------------

# Which objects the fields of requests name.
NAMES = {"pdn": "pd", "qpn": "qp", "cqn": "cq", "send_cqn": "cq", "recv_cqn": "cq",
         "srq": "srq", "ctrl": "ctrl", "xrcd": "xrcd", "doorbell": "doorbell", "mrn": "mr", "ah": "ah",
         "table": "table"}
MAKES = {"CREATE_PD": "pdn", "CREATE_CQ": "cqn", "CREATE_QP": "qpn", "CREATE_AH": "ah",
         "CREATE_NVME_CTRL": "ctrl", "CREATE_SRQ": "srq", "CREATE_XRC_SRQ": "srq", "CREATE_XRCD": "xrcd",
         "ALLOC_DOORBELL": "doorbell", "GET_DMA_MR": "mrn", "REG_USER_MR": "mrn",
         "ALLOC_MR": "mrn", "ALLOC_MW": "mrn", "CREATE_WQ_TABLE": "table",
         "CREATE_RX_HASH_QP": "qpn"}
ENDS = {"DESTROY_PD": "pdn", "DESTROY_CQ": "cqn", "DESTROY_QP": "qpn", "DESTROY_AH": "ah",
        "DESTROY_SRQ": "srq", "DESTROY_NVME_CTRL": "ctrl", "DESTROY_XRCD": "xrcd", "FREE_DOORBELL": "doorbell",
        "DEREG_MR": "mrn", "DESTROY_WQ_TABLE": "table"}


class Guest:
    """The objects of a guest."""

    def __init__(self, spec, forms, seen):
        self.spec = spec
        self.seen = seen
        self.capabilities = {name for bit, name in enumerate(("EVENTS", "DIRECT"))
                             if forms >> bit & 1}
        self.reset()

    def reset(self):
        """Nothing is left."""
        self.objects = collections.defaultdict(dict)
        self.ever = collections.defaultdict(set)
        self.posted = collections.defaultdict(list)

    # Commands

    def form(self, number, request):
        """Which form of a command this is."""
        forms = self.spec.commands.get(number)
        need(forms, f"command {number} is not in the list")
        short = forms[0]
        if len(forms) == 1 or len(request) < forms[1][1]:
            return short
        if self.spec.form_needs[number] not in self.capabilities:
            return short
        if forms[1][0].startswith("CREATE_QP") and not forms[1][3].decode(request)["form"]:
            return short
        return forms[1]

    def check_length(self, form, request):
        """Bytes of a request that was carried out."""
        name, base, lists, shape, _ = form
        if not lists:
            need(len(request) >= base and len(request) <= base + 256 and
                 not any(request[base:]), f"{name}: {len(request)} bytes")
            return
        fields = shape.decode(request)
        if name == "CREATE_WQ_TABLE":
            need(len(request) == base + (shape.each << fields["log_size"]),
                 f"{name}: {len(request)} bytes")
            return
        n = fields.get("npages", fields.get("send_pages", 0) + fields.get("recv_pages", 0))
        if fields.get("levels"):
            n = (n + 511) // 512
        need(len(request) == base + 8 * n, f"{name}: {len(request)} bytes, {n} pages")
        need(shape.list_at == base, f"{name}: its list is at {shape.list_at}")

    def check_pages(self, name, fields):
        """Pages cover rings and regions exactly."""
        def cover(n, size, off=0, page=4096):
            need(n == (off + size + page - 1) // page, f"{name}: {n} pages, {size} bytes")

        if name in ("REG_USER_MR", "REREG_MR", "REREG_MR_LONG") and fields["npages"]:
            page = 1 << (fields.get("page_shift") or 12)
            cover(fields["npages"], fields["length"], fields["virt_addr"] % page, page)
        elif name == "CREATE_CQ, long form" and fields["flags"] & 2:
            cover(fields["npages"], fields["cqe"] << fields["cqe_shift"])
        elif name in ("CREATE_SRQ", "CREATE_XRC_SRQ"):
            cover(fields["npages"], fields["depth"] << fields["shift"])
        elif name == "CREATE_QP, long form" and fields["qp_type"] != 10:
            cover(fields["send_pages"], fields["send_depth"] << fields["send_shift"])
            cover(fields["recv_pages"], fields["recv_depth"] << fields["recv_shift"])

    def check_names(self, name, fields):
        """All objects that a request names exist."""
        qp_type = fields.get("qp_type")
        for field, kind in NAMES.items():
            if field not in fields or (field == "srq" and name.startswith("CREATE_QP")):
                continue
            if name.startswith("CREATE_QP") and (
                    qp_type == 10 and field != "xrcd" or
                    qp_type != 10 and field == "xrcd" or
                    qp_type == 9 and field == "recv_cqn" or
                    qp_type == 11 and field == "send_cqn"):
                continue
            need(fields[field] in self.objects[kind],
                 f"{name} succeeded, and there is no {kind} {fields[field]:#x}")

    def command(self, number, request, answer):
        """A command and its answer."""
        if answer[0]:
            need(answer == b"\x01", "an error with a response")
            return
        form = self.form(number, request)
        name, _, _, shape, response = form
        self.seen.add(("command", name))
        self.check_length(form, request)
        fields = shape.decode(request)
        self.check_names(name, fields)
        self.check_pages(name, fields)
        need(len(answer) == 1 + response.base,
             f"{name}: response of {len(answer) - 1} bytes, not {response.base}")
        response.check_reserved(answer[1:], name)
        self.carry_out(name.split(",")[0], fields, response.decode(answer[1:]))

    def carry_out(self, name, fields, result):
        """The effect of a command."""
        if name == "QUERY_DEVICE":
            need(not result["device_cap_flags"] & ~self.spec.caps, "unknown capability")
            need(result["page_size_cap"] >> 12 & 1, "no pages of 4096 bytes")
        elif name == "MODIFY_QP":
            self.modify(fields)
        elif name == "QUERY_QP":
            state = self.spec.states.get(result["qp_state"])
            need(state, f"state {result['qp_state']}")
            qp = self.objects["qp"][fields["qpn"]]
            need(state in (qp["state"], "ERR", "SQE"), f"state {state} after {qp['state']}")
            qp["state"] = state
        if name in MAKES:
            field = MAKES[name]
            kind = NAMES[field]
            handle = result[field]
            need(handle not in self.objects[kind], f"{name}: {handle:#x} is in use")
            self.objects[kind][handle] = dict(fields, state="RESET")
            if name == "CREATE_RX_HASH_QP":
                self.objects[kind][handle].update(qp_type=12, state="RTR")
            self.ever[kind].add(handle)
            if kind == "qp":
                self.posted = collections.defaultdict(
                    list, {k: v for k, v in self.posted.items() if k[1] != handle})
        if name in ENDS:
            del self.objects[NAMES[ENDS[name]]][fields[ENDS[name]]]

    def modify(self, fields):
        """MODIFY_QP that succeeded: is it in the state table?"""
        qp = self.objects["qp"][fields["qpn"]]
        kind = self.spec.types.get(qp["qp_type"]) or {9: "XRC_INI", 10: "XRC_TGT"}[
            qp["qp_type"]]
        bits = {i for i in range(32) if fields["attr_mask"] >> i & 1}
        name = self.spec.attributes
        # The device may have taken it to ERR or SQE meanwhile.
        new = self.spec.states.get(fields["qp_state"]) if name["STATE"] in bits else None
        for old in (qp["state"], "ERR", "SQE"):
            rule = self.spec.transition(old, new or old, kind)
            if rule and rule[0] <= bits <= rule[0] | rule[1] | {name["STATE"]}:
                qp["state"] = new or old
                break
        else:
            raise Wrong(f"MODIFY_QP of {kind} from {qp['state']} to {new}: "
                        f"attributes {sorted(bits)}")
        if qp["state"] == "RESET":
            for key in [k for k in self.posted if k[1] == fields["qpn"]]:
                del self.posted[key]

    # Work requests and completions

    def slot(self, kind, number, data, index):
        """A slot that was posted."""
        shape = self.spec.slot[kind]
        qp = self.objects["qp"].get(number)
        if kind == "swqe" and qp and qp["qp_type"] == 9:
            begin = self.spec.slot["xrc"].list_at
        else:
            begin = shape.list_at
        fields = shape.decode(data)
        sge = []
        n = fields["num_sge"] if not fields.get("send_flags", 0) & 8 else 0
        for i in range(min(n, (len(data) - begin) // self.spec.sge.base)):
            at = begin + i * self.spec.sge.base
            sge.append(self.spec.sge.decode(data[at:at + self.spec.sge.base]))
        fields["bytes"] = sum(element["length"] for element in sge)
        fields["complete"] = len(sge) == n
        fields.update(self.spec.operands.decode(
            data[self.spec.operands_at[kind == "swqe"]:]))
        queue = "recv" if kind in ("recv", "rwqe", "srq") else "send"
        if queue == "send" and fields["opcode"] in self.spec.opcodes:
            self.seen.add(("opcode", self.spec.opcodes[fields["opcode"]][1]))
        key = fields.get("wr_id")
        if kind == "srq":
            key = fields["cookie"]
        elif index is not None:
            key = (index - 1) & 0xffffffff if kind == "rwqe" else index
        where = "srq" if kind == "srq" else queue
        self.posted[(where, number, key)].append(fields)

    def completion(self, number, data, direct):
        """A completion of a CQ."""
        shape = self.spec.cqe if direct else self.spec.wc
        need(len(data) >= shape.base, "a short completion")
        shape.check_reserved(data, "completion")
        timed = self.objects["cq"].get(number, {}).get("flags", 0) & 4
        need(not any(data[shape.base + (8 if timed else 0):]), "the second half of a completion")
        wc = shape.decode(data)
        need(number in self.ever["cq"], f"CQ {number} was never created")
        need(wc["qp_num"] in self.ever["qp"], f"QP {wc['qp_num']} was never created")
        need(wc["status"] in self.spec.statuses, f"status {wc['status']}")
        self.seen.add(("status", self.spec.statuses[wc["status"]]))
        opcode = wc["opcode"] & 0x3f if direct else wc["opcode"]
        if direct:
            need(wc["phase"] in (0, 1), f"phase {wc['phase']}")
        if wc["status"]:
            return 0
        need(opcode in self.spec.wc_opcodes, f"opcode {opcode}")
        need(not wc["wc_flags"] & ~self.spec.wc_flags, f"flags {wc['wc_flags']:#x}")
        name = self.spec.wc_opcodes[opcode][0]
        self.seen.add(("completion", name))
        recv = name.startswith("RECV")
        if direct:
            need(recv == bool(wc["opcode"] & 0x80), f"{name} with opcode {wc['opcode']:#x}")
        return self.fits(wc, name, opcode, recv, direct)

    def fits(self, wc, name, opcode, recv, direct):
        """Does a good completion fit a request?  1 if the request was seen."""
        key = wc["wqe"] if direct else wc["wr_id"]
        qp = self.objects["qp"].get(wc["qp_num"], {})
        if direct and (qp.get("flags", 0) and recv or wc["opcode"] & 0x40):
            requests = [r for k, list_ in self.posted.items()
                        if k[0] == "srq" and k[2] == key for r in list_]
        else:
            requests = self.posted.get(("recv" if recv else "send", wc["qp_num"], key), [])
        requests = [r for r in requests if r["complete"]]
        if not requests:
            return 0
        if recv:
            if name == "RECV":
                need(any(wc["byte_len"] <= r["bytes"] for r in requests),
                     f"{wc['byte_len']} bytes in a shorter request")
            return 1
        known = [self.spec.opcodes[r["opcode"]] for r in requests
                 if r["opcode"] in self.spec.opcodes]
        need(any(re.match(r"\d+", cells[3]).group(0) == str(opcode) for cells in known),
             f"{name} completes {[cells[1] for cells in known]}")
        if name == "SEND" and qp.get("qp_type") in (1, 4):
            need(any(r["ud.ah"] in self.ever["ah"] for r in requests),
                 f"a datagram by none of {sorted(map(hex, self.ever['ah']))}")
        if name == "REG_MR":
            need(any(r["reg.npages"] == (r["reg.iova"] % 4096 + r["reg.length"] + 4095) // 4096
                     for r in requests), "REG_MR: pages do not cover the range")
        if name == "RDMA_READ":
            need(any(wc["byte_len"] == r["bytes"] for r in requests),
                 f"RDMA_READ of {wc['byte_len']} bytes")
        else:
            wanted = self.spec.wc_opcodes[opcode][1]
            need(str(wc["byte_len"]) == wanted, f"{name}: byte_len {wc['byte_len']}")
        return 1

    def event(self, data):
        """An event."""
        shape = self.spec.event
        need(len(data) == shape.base, "length of an event")
        shape.check_reserved(data, "event")
        event = shape.decode(data)
        need(event["type"] in self.spec.events, f"event of type {event['type']}")
        name, of = self.spec.events[event["type"]]
        self.seen.add(("event", name))
        kind = {"CQN": "cq", "QPN": "qp", "SRQ": "srq", "controller": "ctrl"}[of]
        need(event["detail"] == 0, f"{name}: detail {event['detail']}")
        need(event["number"] in self.ever[kind], f"{name} of {kind} {event['number']}")


def unhex(word):
    """Bytes of a word of the dump."""
    return b"" if word == "-" else bytes.fromhex(word)


def decode(spec, path, counts, seen):
    """Goes through a dump; adds to what was counted and seen."""
    guests = {}
    with open(path, encoding="ascii") as file:
        for n, line in enumerate(file, 1):
            guest, kind, number, *words = line.split()
            data, more = map(unhex, words)
            number = int(number)
            if kind == "up":
                guests[guest] = Guest(spec, number, seen)
                continue
            of = guests[guest]
            try:
                if kind == "reset":
                    of.reset()
                elif kind == "command":
                    of.command(number, data, more)
                elif kind in ("wc", "cqe"):
                    counts["fit"] += of.completion(number, data, kind == "cqe")
                elif kind == "event":
                    of.event(data)
                else:
                    index = int.from_bytes(more, "little") if more else None
                    of.slot(kind, number, data, index)
            except Wrong as wrong:
                raise Wrong(f"line {n}: guest {guest}, {kind} {number}: {wrong}") from None
            counts[kind] += 1


# Changes of the document, old text and new: with each of them the decoder must go wrong.
FAULTS = (
    ("7        `REG_USER_MR`_                        32 + 8 × n",
     "7        `REG_USER_MR`_                        40 + 8 × n"),
    ("6        `GET_DMA_MR`_                         8                12",
     "6        `GET_DMA_MR`_                         8                16"),
    ("44      4        ``send_depth``", "60      4        ``send_depth``"),
    ("60      4        ``send_pages``", "44      4        ``send_pages``"),
    ("8       4     ``send_cqn``", "16      4     ``send_cqn``"),
    ("8       1     ``qp_state``  ", "9       1     ``qp_state``  "),
    ("AV, PATH_MTU, DEST_QPN,", "AV, TIMEOUT,  DEST_QPN,"),
    ("2      SEND                 all         0, SEND",
     "2      SEND                 all         3, SEND"),
    ("4      RDMA_READ            RC          2, RDMA_READ",
     "4      RDMA_READ            RC          1, RDMA_READ"),
    ("26      1     ``status``", "27      1     ``status``"),
    ("8       4     ``ud.ah``", "4       4     ``ud.ah``"),
    ("28      4     ``reg.npages``", "24      4     ``reg.npages``"),
    ("8       4     ``qp_num``      local QPN\n12",
     "12      4     ``qp_num``      local QPN\n12"),
    ("24      4     ``qp_num``      `Completions`_",
     "28      4     ``qp_num``      `Completions`_"),
    ("16     SRQ_LIMIT      SRQ ", "15     SRQ_LIMIT      SRQ "),
    ("4       4     ``number``    CQN, QPN", "0       4     ``number``    CQN, QPN"),
    ("0      RESET  no ", "7      RESET  no "),
    ("8       4        ``num_sge``   length of ``sg_list``",
     "12      4        ``num_sge``   length of ``sg_list``"),
)


# Statuses for faults inside of a device, which nothing in the document leads to.
NEVER = {("status", name) for name in ("LOC_ACCESS_ERR", "REM_ABORT_ERR", "FATAL_ERR",
                                       "RESP_TIMEOUT_ERR", "GENERAL_ERR")}


def never_said(spec, seen):
    """Names of the document that no program said, and those of NEVER that one did."""
    has = {("command", form[0]) for forms in spec.commands.values() for form in forms}
    has |= {("opcode", cells[1]) for cells in spec.opcodes.values()}
    has |= {("completion", cells[0]) for cells in spec.wc_opcodes.values()}
    has |= {("status", name) for name in spec.statuses.values()}
    has |= {("event", name) for name, _ in spec.events.values()}
    return sorted(f"{kind} {name}" for kind, name in has - NEVER ^ seen)


def check_counts(counts):
    """Most completions have a request; some tests write slots by hand."""
    need(counts["fit"] * 2 > counts["wc"] + counts["cqe"],
         f"only {counts['fit']} completions with a request")


def goes_red(text, dumps):
    """Faults of the document that the decoder does not notice."""
    for old, new in FAULTS:
        if old not in text:
            yield f"\"{old}\" is not in the document"
            continue
        try:
            spec = Spec(text.replace(old, new))
            for path in dumps:
                counts = collections.Counter()
                decode(spec, path, counts, set())
                check_counts(counts)
        except (Wrong, LookupError):
            continue
        yield new.split("\n")[0]


def run(spec, program, path, counts, seen):
    """Runs a program and decodes its dump; returns why it is wrong, or None."""
    try:
        done = subprocess.run([program], env=dict(os.environ, EG_DUMP=path), timeout=900,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False)
        if done.returncode:
            return f"it ended with {done.returncode}"
        before = sum(counts.values())
        decode(spec, path, counts, seen)
        return None if sum(counts.values()) > before else "there is nothing to decode"
    except Wrong as wrong:
        return str(wrong)


def report(name, why):
    """A test as cmocka reports it; 1 if it failed."""
    print(f"[ RUN      ] {name}")
    print(f"[  ERROR   ] --- {why}\n[  FAILED  ] {name}" if why else f"[       OK ] {name}",
          flush=True)
    return bool(why)


def main():
    """Returns the exit status."""
    text = check_spec.read(check_spec.SPEC)
    try:
        spec = Spec(text)
    except Wrong as wrong:
        return report("decode_document", f"spec.rst: {wrong}")
    programs = [arg for arg in sys.argv[1:] if arg != "--all"]
    counts = collections.Counter()
    seen = set()
    failed = 0
    dumps = []
    print("# decode.py")
    with tempfile.TemporaryDirectory() as scratch:
        for program in programs:
            name = os.path.basename(program)
            path = os.path.join(scratch, name)
            failed += report("decode_" + name, run(spec, program, path, counts, seen))
            if name in ("test_direct", "test_rdma", "test_srq", "test_ud", "test_fastreg"):
                dumps.append(path)
            elif os.path.exists(path):
                os.unlink(path)
        missed = list(goes_red(text, dumps)) if dumps else []
        failed += report("decode_goes_red", "not noticed: " + "; ".join(missed)
                         if missed else None)
    try:
        check_counts(counts)
    except Wrong as wrong:
        failed += report("decode_counts", str(wrong))
    if "--all" in sys.argv[1:]:
        never = never_said(spec, seen)
        failed += report("decode_all", "never said: " + ", ".join(never) if never else None)
    completions = counts["wc"] + counts["cqe"]
    print(f"# decoded: {counts['command']} commands, {completions} completions, {counts['fit']} "
          f"of them with their request, {counts['event']} events")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

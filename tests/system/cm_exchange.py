#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""cm_exchange.py KERNEL OURS...: what Wireshark reads of the connection management in captures. KERNEL is the kernel's rping on
soft-RoCE. OURS, each FILE=KIND: rping as the kernel's; xrc, refused, datagram.

Every packet of ours must be dissected to its end. Every field of an rping exchange that the standard or librdmacm fixes must be
the kernel's, and what the fields of one exchange say of each other, and of the data that follows, must be so."""

import re
import subprocess
import sys
import xml.etree.ElementTree as tree
from dataclasses import dataclass

REQ, REJ, REP, RTU, DREQ, DREP = 0x10, 0x12, 0x13, 0x14, 0x15, 0x16
SIDR_REQ, SIDR_REP = 0x17, 0x18
NAMES = {REQ: "REQ", REJ: "REJ", REP: "REP", RTU: "RTU", DREQ: "DREQ", DREP: "DREP", SIDR_REQ: "SIDR_REQ", SIDR_REP: "SIDR_REP"}

# Chosen for each connection, or what a port is: addresses, rate (and with it the time that an acknowledgement may take). A
# datagram's M and A have no meaning. Wireshark 4.0 takes bits of the flow label for the reserved ones behind it.
OWN = re.compile(
    r"transactionid|commid|localcaguid|localqpn|remoteqpneecn|startpsn|[ls]gid|remotegid|ip_cm\.(sport|[sd]ip)|flowlabel"
    r"|pktrate|localacktout|pppmtu|prim_reserved0|bth\.(a|m|psn)$|ip_cm$|cm\.(req|rep)$|^(bth|deth|mad|mad\.data|smplid\.smpdata|invariant\.crc)$"
)

complaints = []


def must(what, true):
    if not true:
        complaints.append(what)


@dataclass
class Packet:
    fields: dict  # Wireshark's name, without infiniband.: hexadecimal digits

    def get(self, name):
        return int(self.fields[name], 16) if self.fields.get(name) else None

    @property
    def message(self):
        """The attribute, if it is one of connection management."""
        return self.get("mad.attributeid") if self.get("mad.mgmtclass") == 7 else None

    @property
    def data(self):
        """What follows the MAD's header."""
        return bytes.fromhex(self.fields["mad.data"])

    def number_at(self, offset, size):
        return int.from_bytes(self.data[offset : offset + size], "big")

    @property
    def sender_id(self):
        return self.number_at(0, 4)

    @property
    def receiver_id(self):
        return self.number_at(4, 4)

    @property
    def transaction(self):
        return self.get("mad.transactionid")


def packets(file):
    """Each packet of InfiniBand, with the value of every field that Wireshark found in it."""
    shown = subprocess.run(
        ["tshark", "-n", "-r", file, "-T", "pdml"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, timeout=60
    ).stdout
    for number, each in enumerate(tree.fromstring(shown).iter("packet"), 1):
        names = [part.get("name", "") for part in each.iter()]
        must(f"packet {number} of {file} is malformed", not any(name.startswith("_ws.malformed") for name in names))
        fields = {}
        for part in each.iter("field"):
            name = part.get("name", "")
            if name.startswith("infiniband."):
                fields.setdefault(name.removeprefix("infiniband."), part.get("value", "").lower())
        if fields:
            yield Packet(fields)


def exchange(file):
    """The packets, and the first message of each kind."""
    all_of_them = list(packets(file))
    kinds = {}
    for packet in all_of_them:
        if packet.message is not None:
            kinds.setdefault(packet.message, packet)
    return all_of_them, kinds


# --- what is to be so -------------------------------------------------------------------------------------------------------


def as_the_kernel(kernel, ours):
    """Every fixed field of every message of a connection."""
    compared = 0
    for kind in (REQ, REP, RTU, DREQ, DREP):
        theirs, mine = kernel[kind].fields, ours[kind].fields
        for name in sorted(theirs.keys() | mine.keys()):
            if not OWN.search(name):
                compared += 1
                must(
                    f"{NAMES[kind]} {name}: the kernel's is {theirs.get(name)}, ours {mine.get(name)}",
                    theirs.get(name) == mine.get(name),
                )
    return compared


def one_conversation(ours):
    """Ids and transactions of one exchange (IBTA volume 1, 12.7), whichever of its messages there are."""
    req = ours[REQ]
    must("the REQ's reserved bits are not 0", req.receiver_id == 0 and req.number_at(90, 2) & 0x0FC0 == 0)
    for kind, packet in ours.items():
        must(f"{NAMES[kind]} has a transaction of its own", kind in (DREQ, DREP) or packet.transaction == req.transaction)
    if REP in ours:
        rep = ours[REP]
        ends = {req.sender_id, rep.sender_id}
        must("the REP does not name the REQ's sender", rep.receiver_id == req.sender_id)
        for kind in ours.keys() - {REQ, REP}:
            must(f"{NAMES[kind]} names other ends", {ours[kind].sender_id, ours[kind].receiver_id} == ends)
    if DREQ in ours and REP in ours:
        of_passive = ours[REP].get("cm.rep.localqpn") or ours[REP].get("cm.rep.localeecn")
        wanted = of_passive if ours[DREQ].sender_id == req.sender_id else req.get("cm.req.localqpn")
        must("the DREQ does not name its receiver's queue pair", ours[DREQ].number_at(8, 3) == wanted)


def data_as_agreed(all_of_them, ours):
    """The first packet of each direction has the queue pair and the PSN that its receiver told."""
    for what, qpn, psn in (
        ("active", ours[REP].get("cm.rep.localqpn"), ours[REP].get("cm.rep.startpsn")),
        ("passive", ours[REQ].get("cm.req.localqpn"), ours[REQ].get("cm.req.startpsn")),
    ):
        # Requests of RC: the opcode is below 0x20, and not an answer (0x0d to 0x12).
        data = [p for p in all_of_them if p.get("bth.destqp") == qpn and p.get("bth.opcode") < 0x20 and not 0x0D <= p.get("bth.opcode") <= 0x12]
        must(f"no data of the {what} side", data)
        must(f"data of the {what} side does not begin at the PSN that was told", not data or data[0].get("bth.psn") == psn)


def judge_xrc(ours):
    """Transport 3 with extended transport 1; the target's number in the EE context's place (IBTA volume 1, annex A14)."""
    must("the REQ is not of XRC", ours[REQ].get("cm.req.transpsvctype") == 3 and ours[REQ].get("cm.req.ext_transport") == 1)
    must("the REP names no target", ours[REP].get("cm.rep.localeecn") != 0)
    must("the REP does not say SRQ", ours[REP].get("cm.rep.srq") == 1)


def judge_refused(ours):
    """REJ of a REQ (message 0), no such service (8)."""
    rej = ours[REJ]
    must("the REJ is not about the REQ", rej.number_at(8, 1) >> 6 == 0 and rej.receiver_id == ours[REQ].sender_id)
    must("the REJ's reason is not 8", rej.number_at(10, 2) == 8)


def judge_datagram(ours):
    """SIDR: the answer repeats the request's id and service, and tells RDMA CM's Q_Key of the UDP space."""
    request, answer = ours[SIDR_REQ], ours[SIDR_REP]
    must("the SIDR_REP's id is not the request's", answer.sender_id == request.sender_id)
    must("nor its transaction", answer.transaction == request.transaction)
    must("nor its service", answer.data[12:20] == request.data[8:16])
    must("it is no success", answer.number_at(4, 1) == 0)
    must("it names no queue pair", answer.number_at(8, 3) > 1)
    must("its Q_Key is not 0x01234567", answer.number_at(20, 4) == 0x01234567)


WANTED = {
    "rping": (REQ, REP, RTU, DREQ, DREP),
    "xrc": (REQ, REP, RTU, DREQ, DREP),
    "refused": (REQ, REJ),
    "datagram": (SIDR_REQ, SIDR_REP),
}


def judge(file, kind, kernel):
    """A line about it."""
    all_of_them, ours = exchange(file)
    missing = [NAMES[each] for each in WANTED[kind] if each not in ours]
    must(f"there is no {', '.join(missing)}", not missing)
    if missing:
        return "incomplete"
    said = f"{len(all_of_them)} packets, {sum(p.message is not None for p in all_of_them)} messages"
    if REQ in ours:
        one_conversation(ours)
    if kind == "rping":
        said += f", {as_the_kernel(kernel, ours)} fields as the kernel's"
        data_as_agreed(all_of_them, ours)
    elif kind == "xrc":
        judge_xrc(ours)
    elif kind == "refused":
        judge_refused(ours)
    else:
        judge_datagram(ours)
    return said


def main():
    _, kernel = exchange(sys.argv[1])
    failed = False
    for word in sys.argv[2:]:
        file, _, kind = word.partition("=")
        said = judge(file, kind, kernel)
        print(f"{kind:9} {said}" + "".join(f"\n    NOT so: {each}" for each in complaints))
        failed |= bool(complaints)
        complaints.clear()
    return 1 if failed else 0


sys.exit(main())

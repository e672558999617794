#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares what `ibv_devinfo -v` has printed with what `verbline devinfo --json` says, field for field.

    verbs_devinfo.py IBV_DEVINFO_OUTPUT JSON [same]

Values are compared as words without their marks; prints each field that is missing or different, and fails if there is one or if
there is nothing to compare. Each opening of a device on a link without an address of its own has a new one: without `same`, GUIDs
and link-local GIDs are not compared.
"""

import ipaddress
import json
import re
import sys

# Fields that ibv_devinfo prints under other names, and lines of it that are headings.
NAMES = {"maximum available device memory": "max_device_memory", "completion timestamp_mask": "completion_timestamp_mask"}
GROUPS = {"tso_caps", "rss_caps", "packet_pacing_caps", "tag matching capabilities", "cq moderation caps"}
# We name more flags than it does, and print their number always.
FLAGS, FLAG_PREFIX = re.compile("odp_caps|cap_flags$"), re.compile("^(odp_)?support_|^odp_(?=support$)")
NEW_EACH_TIME = {"node_guid", "sys_image_guid"}


def address_of(text):
    return text and ipaddress.IPv6Address(text)


def words(value):
    """Numbers by their value, units and punctuation left out: 0x0 and 0, "1000000kHZ" and "1000000 kHz" are the same."""
    found = re.findall(r"0x[0-9a-f]+|[0-9]+(?:\.[0-9]+)?|[a-z_]+", str(value).replace("0X", "0x").lower())
    found = ["srq_recv" if word == "support_srq" else word for word in found]
    return [str(int(word, 0)) if re.fullmatch(r"0x[0-9a-f]+", word) else word for word in found]


def guid(value):
    return str(value).removeprefix("0x").replace(":", "")


def printed(text):
    """(name, value) of each line; lines without a name are flags, which belong to the name before."""
    fields, group = [], ""
    for line in text.splitlines():
        name, colon, value = line.strip().partition(":")
        depth = len(line) - len(line.lstrip("\t"))
        if not line.strip():
            continue
        if name in GROUPS:
            group = name
        elif not colon:
            if fields and depth > 1:
                fields[-1][1] += " " + line.strip()
        else:
            inside = group and depth == 2
            if not inside:
                group = ""
            name = NAMES.get(name, name)
            fields.append([f"{group}.{name}" if inside else name, value.strip()])
    return fields


def said(device):
    fields = {name: value for name, value in device.items() if name not in ("ports", "link")}
    for port in device["ports"]:
        fields |= {name: value for name, value in port.items() if name != "gids"}
    return fields


def difference(name, value, fields):
    if name not in fields:
        return f"{name}: not said"
    ours = fields[name]
    if name in NEW_EACH_TIME:
        same = guid(value) == guid(ours)
    elif FLAGS.search(name):
        same = {FLAG_PREFIX.sub("", flag) for flag in words(value)} <= set(words(ours))
    else:
        same = words(value) == words(ours)
    return None if same else f"{name}: {value!r}, ours {ours!r}"


def main():
    same = "same" in sys.argv[3:]
    with open(sys.argv[1], encoding="utf-8") as file:
        theirs = printed(file.read())
    with open(sys.argv[2], encoding="utf-8") as file:
        device = json.load(file)[0]
    fields, gids = said(device), {str(gid["index"]): gid for gid in device["ports"][0]["gids"]}
    compared, found = 0, []
    for name, value in theirs:
        index = re.fullmatch(r"GID\[ *(\d+)\]", name)
        if name in NEW_EACH_TIME and not same or index and value.startswith("fe80:") and not same:
            continue
        compared += 1
        if index:
            gid = gids.pop(index[1], {})
            address, _, kind = value.partition(", ")
            if (address_of(address), kind) != (address_of(gid.get("gid")), gid.get("type")):
                found.append(f"{name}: {value!r}, ours {gid}")
        elif problem := difference(name, value, fields):
            found.append(problem)
    print(*found, f"{compared} fields compared", sep="\n")
    sys.exit(1 if found or compared < 60 else 0)


main()

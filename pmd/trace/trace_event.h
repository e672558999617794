// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a shard's thread records in its trace ring. Their numbers are those of the file: new ones are added at the end.

#include <array>
#include <cstdint>
#include <string_view>

namespace verbline::pmd {

/// X(name, of what `value` is the number, what happened)
#define VERBLINE_TRACE_EVENTS(X)                                                            \
    X(none, "", "no event")                                                                 \
    X(received, "packets", "a burst came from the port")                                    \
    X(from_kernel, "packets", "a burst came from the kernel's interface of the port")       \
    X(commands, "commands", "carried out what the control thread had sent")                 \
    X(unresolved, "", "asked the control thread for a neighbour's link address")            \
    X(punted, "", "handed a packet to the control thread: ARP, neighbour discovery")        \
    X(membership_heard, "", "told the control thread of an IGMP or MLD message")            \
    X(unknown_group, "", "told the control thread of a packet to a group without a route")  \
    X(event_lost, "", "the control thread was behind: the ring of events was full")         \
    X(congested, "", "a device refuses frames: the kernel's interfaces are not read")       \
    X(relieved, "", "the devices took all frames that waited")                              \
    X(resting, "", "found nothing to do: sleeps until something comes, or for short times") \
    X(awake, "", "found something to do")                                                   \
    X(taken_over, "frames", "took frames that other shards had received for its ports")     \
    X(handed_over, "frames", "left frames to the shard of the port they go to")             \
    X(dropped_full, "frames", "dropped frames that the port had no room for, or the ring to its shard")

enum class TraceEvent : std::uint16_t {
#define VERBLINE_TRACE_ENUMERATOR(name, value, help) name,
    VERBLINE_TRACE_EVENTS(VERBLINE_TRACE_ENUMERATOR)
#undef VERBLINE_TRACE_ENUMERATOR
};

struct TraceEventText {
    std::string_view name, value, help;
};

inline constexpr std::array trace_event_texts{
#define VERBLINE_TRACE_TEXT(name, value, help) TraceEventText{#name, value, help},
    VERBLINE_TRACE_EVENTS(VERBLINE_TRACE_TEXT)
#undef VERBLINE_TRACE_TEXT
};

}  // namespace verbline::pmd

/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/**
 * @file
 * For the authors of packet programs: C functions that Verbline's gateway runs on every IP packet that a port receives
 * from its link, before it routes the packet. As XDP programs in the kernel they are eBPF objects, here verified and
 * compiled by DPDK's rte_bpf:
 *
 *     #include <verbline_program.h>
 *
 *     VERBLINE_PROGRAM("no_telnet") verbline_u64 drop_telnet(struct verbline_packet *packet) {
 *         if (packet->family != 4 || packet->ipv4.protocol != 6) return VERBLINE_PASS;
 *         return packet->data[22] == 0 && packet->data[23] == 23 ? VERBLINE_DROP : VERBLINE_PASS;
 *     }
 *
 *     clang -O2 -target bpf -mcpu=v2 -c no_telnet.c -o no_telnet.o
 *     verbline program load lan no_telnet.o
 *
 * Of C, a program is one function in a section of its own, whose name is not the function's. There are no loops that
 * clang does not unroll, no calls but those below (and inlined functions), no global variables but those below, and at
 * most 512 bytes of local ones. Array indices must be bounded by what the function does with them: `data[i & 127]`.
 * What goes against that is refused when it is loaded, with the verifier's reason.
 *
 * A program runs on the cores that poll, for each packet: what it takes, the gateway's rate loses. Each core has
 * counters and state of its own; the core's part of the traffic is some of the flows.
 */

typedef unsigned char verbline_u8;
typedef unsigned short verbline_u16;
typedef unsigned int verbline_u32;
typedef unsigned long long verbline_u64;

/** What is to happen to the packet: the program returns one of these. */
enum verbline_verdict {
    /** Drop it, as the program failed: also what a division by zero returns. Counted as program_aborted. */
    VERBLINE_ABORT = 0,
    /** Drop it. Counted as program_dropped. */
    VERBLINE_DROP = 1,
    /** Route it as if there were no program. Counted as program_passed. */
    VERBLINE_PASS = 2,
    /** For VERBLINE_FORWARD. */
    VERBLINE_FORWARD_FLAG = 3,
};

/**
 * Verdict: the packet leaves by this port, whatever the routes say. Its next hop there is the gateway of its
 * destination's route if that leads out of this port, else the destination itself, as for a socket that is bound to an
 * interface. The TTL is decremented and the MTU holds, as for any routed packet. Packets to multicast groups and
 * to IPv4's broadcast address are not forwarded so, but dropped (dropped_program_group). Counted as program_forwarded.
 */
#define VERBLINE_FORWARD(port) (VERBLINE_FORWARD_FLAG | (verbline_u64)(port) << 8)

/** The number of the port that gateway.toml calls `name`, for VERBLINE_FORWARD; what is no letter or digit there is
 * '_'. */
#define VERBLINE_PORT(name) verbline_port_##name
/** Declares it, outside of functions. A program that names a port the gateway does not have is refused. */
#define VERBLINE_DECLARE_PORT(name) extern const verbline_u64 verbline_port_##name

#define VERBLINE_PROGRAM(section_name) __attribute__((section(section_name), used))

enum {
    VERBLINE_DATA_SIZE = 128,
    VERBLINE_COUNTERS = 64,
    VERBLINE_STATE = 256,
};

/** RFC 791; fields of several bytes in network byte order, as all of the packet's. */
struct verbline_ipv4 {
    verbline_u8 version_and_words; /**< the header's size in the lower half, in words of 4 bytes */
    verbline_u8 traffic_class;
    verbline_u16 total_length;
    verbline_u16 identification;
    verbline_u16 fragment;
    verbline_u8 time_to_live;
    verbline_u8 protocol;
    verbline_u16 checksum;
    verbline_u32 source;
    verbline_u32 destination;
};

/** RFC 8200. */
struct verbline_ipv6 {
    verbline_u32 version_class_flow;
    verbline_u16 payload_length;
    verbline_u8 next_header;
    verbline_u8 hop_limit;
    verbline_u8 source[16];
    verbline_u8 destination[16];
};

/**
 * What a program gets. It is a copy: changes of it reach neither the packet nor the next call. The packet is as the
 * link received it: its header has not been checked. A device that merges TCP segments may give packets of up to 64 KB.
 */
struct verbline_packet {
    verbline_u64 time;      /**< nanoseconds of a clock that only goes forwards; the same for all packets of a burst */
    verbline_u32 length;    /**< in bytes, of the packet as the link gave it: a short one may have Ethernet's padding */
    verbline_u16 available; /**< bytes of the packet in `data`, from its IP header on; the rest of `data` is zero */
    verbline_u16 port;      /**< number of the port that received it, by the order in gateway.toml, from 0 */
    verbline_u16 core;      /**< number of the core, from 0 */
    verbline_u16 cores;     /**< how many there are: a limit for all is this many times one core's */
    verbline_u8 family;     /**< 4 or 6: IPv4 or IPv6, by the link's protocol field */
    verbline_u8 reserved[11];
    union {
        verbline_u8 data[VERBLINE_DATA_SIZE];
        struct verbline_ipv4 ipv4;
        struct verbline_ipv6 ipv6;
    };
};

#ifdef __bpf__

/**
 * Of the port that runs the program, and of the core: `verbline program counters` prints the sums over all cores. They
 * begin at 0 and stay when another program replaces this one.
 */
extern verbline_u64 verbline_counters[VERBLINE_COUNTERS];

/** Likewise, for what the program has to remember; not printed. */
extern verbline_u64 verbline_state[VERBLINE_STATE];

/**
 * The value of the longest prefix of the port's set that holds the address, given as in the packet; 0 if none does. The
 * set is what `verbline program prefix` has put there; a prefix has the value 1 unless it was added with another.
 */
extern verbline_u64 verbline_prefix_ipv4(verbline_u64 address);
extern verbline_u64 verbline_prefix_ipv6(const void* address); /**< 16 bytes */

/** The same of the packet's source, or destination. */
static inline verbline_u64 verbline_prefix_of_source(const struct verbline_packet* packet) {
    if (packet->family == 4) return verbline_prefix_ipv4(packet->ipv4.source);
    return verbline_prefix_ipv6(packet->ipv6.source);
}
static inline verbline_u64 verbline_prefix_of_destination(const struct verbline_packet* packet) {
    if (packet->family == 4) return verbline_prefix_ipv4(packet->ipv4.destination);
    return verbline_prefix_ipv6(packet->ipv6.destination);
}

static inline verbline_u16 verbline_from_network16(verbline_u16 value) {
    return __builtin_bswap16(value);
}
static inline verbline_u32 verbline_from_network32(verbline_u32 value) {
    return __builtin_bswap32(value);
}

#endif

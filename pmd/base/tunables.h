// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What may be turned for a workload or a machine, in one place: change the number, build again. Each says what it
/// costs to raise or lower it; who owns it is named by the path behind it. Whatever is turned, `bench/compare` shows
/// what it did.
///
/// Not here: what a protocol or a peer fixes, sizes of structures, and how a program and its helper share a CPU
/// (apps/libibverbs/port/progress.cc), whose times were found together and only mean something together. What users
/// turn without a compiler are options of `verbline` (MTU, links, impairments) and its configuration file.

#include <cstddef>
#include <cstdint>

#include "pmd/base/time.h"

namespace verbline::tunables {

// Poll cores.

/// Packets of one RDMA queue pair before the next has its turn (datapath/rdma). More: longer bursts for one flow, a
/// longer wait for all others. Fewer: each turn's own cost weighs more.
constexpr unsigned packets_per_turn = 16;
/// Queue pairs that an RDMA poll core looks at for new requests in one poll (datapath/rdma). More: arrivals wait
/// longer while very many queue pairs post.
constexpr unsigned doorbells_per_poll = 256;
/// Idle polls of a router's poll core before it first gives its CPU away, and then before it first sleeps
/// (datapath/router). More: less latency where CPUs are many, less CPU for the peer where they are few. On an isolated
/// CPU neither counts.
constexpr std::uint32_t idle_spins = 64, idle_yields = 64;
/// The first and the longest sleep of an idle router's poll core. What arrives meanwhile waits so long.
constexpr Time shortest_idle_sleep = 20 * microsecond, longest_idle_sleep = 100 * microsecond;
/// Frames that may wait for one device of a router (datapath/link). A TCP packet of 64 KB becomes 33 frames at IPoIB's
/// MTU: this is room for thirty. Fewer: drops in bursts. More: longer queues, and as many buffers of the pool.
constexpr std::size_t link_stage = 1024;

// RDMA transport.

/// Packets that the requesters of a poll core have under way together (datapath/transport). It is the largest window,
/// so at most 1024. Fewer: a longer path is not filled (1024 packets of 4 KB are 100 Gb/s over 330 us). More than
/// the rings and buffers on the way can hold is lost and sent again.
constexpr std::uint32_t packets_under_way = 1024;
/// Early arrivals that a poll core keeps while an earlier packet is missing, for all its queue pairs, but never above
/// half of the pool (datapath/rdma). Fewer: loss on fast paths costs going back. More: more buffers that peers can
/// make us keep.
constexpr std::uint32_t kept_packets = 4096;
/// How long they are kept (datapath/transport): many round trips, also of a peer that has lost its CPU. It is how long
/// a hostile peer can hold its share of the buffers.
constexpr Time longest_kept = second;
/// Packets after which an answer is asked for in the middle of a message (datapath/transport). Fewer: more ACKs. More:
/// loss is noticed later, and the window moves in larger steps.
constexpr std::uint16_t ack_interval = 32;

// Packet buffers. What is not touched is not resident.

/// Of a gateway or host (apps/verbline), for all ports: chains of 64 KB among them. 16 K buffers are 42 MB.
constexpr unsigned router_packets = 16'383;
/// Of a hub (apps/verbline): frames on their way, those that wait for full receivers, copies for many.
constexpr unsigned hub_packets = 4095;
/// Of these, how many may wait for full receivers, all together. More: a few stalled programs can starve the others.
constexpr unsigned hub_packets_waiting = 2560;
/// What DPDK may take of a verbs program's memory (apps/libibverbs/port), MB.
constexpr unsigned program_memory_mb = 256;

// Devices.

/// Slots of a memif ring, log2: where no program says otherwise (pmd/factory), and between verbs programs on a `memif:`
/// link (apps/libibverbs/port). Fewer fit the caches better (a frame of 2 KB, both sides together: 95 ns with 128
/// slots, 109 with 1024, 133 with 4096); more bridge the time in which the peer does not run.
constexpr unsigned memif_log2_ring = 10, program_memif_log2_ring = 9;
/// Bytes that an Ethernet interface (`eth:`) may have waiting in its socket (pmd/packet). Fewer: drops in bursts.
constexpr int packet_send_buffer = 4 << 20;
/// Frames that wait to be written to a capture file (pmd/capture); more are dropped from it, and counted. Each holds a
/// buffer.
constexpr unsigned capture_ring = 4096;

// The hub's switch (pmd/bridge).

/// Frames that wait for one full receiver. More: no loss in longer pauses of a program, more latency behind them.
constexpr std::size_t switch_waiting = 256;
/// Frames taken from one port before the next has its turn.
constexpr std::size_t switch_share = 32;
/// How long the switch polls for nothing before it sleeps. More: less latency, a CPU busier with nothing.
constexpr Time switch_spin = 10 * microsecond;

// Verbs programs (apps/libibverbs/objects).

/// How long a thread that waits for a completion event polls before it sleeps: about what sleeping and waking cost.
constexpr Time poll_before_sleep = 5 * microsecond;

// Control thread.

/// How long a path that the subnet administrator gave is believed while no event puts it in doubt, and how long it is
/// believed that there is none (control/sa). Less: more questions; a hit takes 25 ns, a question to OpenSM 107 us.
constexpr Time path_lifetime = 600 * second, no_path_lifetime = 2 * second;
/// Paths that the cache keeps (control/sa); the least used goes.
constexpr std::size_t cached_paths = 65'536;
/// Requests to the subnet administrator that are out at the same time, and that wait for their turn (control/mad).
/// More at the same time: routes are found faster, and the subnet manager, which all share, has more to do.
constexpr std::size_t requests_outstanding = 64, requests_queued = 4096;
/// How long a neighbour's answer is believed before it is checked (control/host): RFC 4861's REACHABLE_TIME.
constexpr Time neighbour_reachable = 30 * second;

// What peers can make us keep.

/// Connections that strangers have begun, and closed ones that linger, of one connection manager (control/cm): below
/// 1 KB each. Fewer: a burst of honest clients is refused sooner.
constexpr std::size_t half_open_connections = 16'384, closing_connections = 16'384;
/// Connections to a hub that have no lane yet, and how long one may last so (control/hub).
constexpr std::size_t hub_strangers = 64;
constexpr Time hub_join_limit = 5 * second;

}  // namespace verbline::tunables

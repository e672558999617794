// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Compile-time tunables for a workload or a machine, in one place. Each states the cost of raising and lowering it;
/// the path in parentheses names the code that uses it. Measure a change with `bench/compare`.
///
/// Not here: values fixed by a protocol or a peer, sizes of structures, and the times by which a program and its helper
/// share a CPU (apps/libibverbs/port/progress.cc), which were tuned together. Run-time settings are options of
/// `verbline` (MTU, links, impairments) and its configuration file.

#include <cstddef>
#include <cstdint>

#include "pmd/base/time.h"

namespace verbline::tunables {

// Poll cores.

/// Packets that one RDMA queue pair sends before the next is scheduled (datapath/rdma). More: longer bursts of one
/// flow, more latency for all others. Fewer: a higher scheduling cost per packet.
constexpr unsigned packets_per_turn = 16;
/// Doorbells that an RDMA poll core serves in one poll: queue pairs checked for new work requests (datapath/rdma).
/// More: received packets wait longer while very many queue pairs post.
constexpr unsigned doorbells_per_poll = 256;
/// How long a router's idle poll core polls on before it first sleeps (datapath/router): the first half of the time it
/// spins, then it yields its CPU between polls. Where an event ends the sleep, and where a device has to be polled.
/// More: less latency if CPUs are plentiful, less CPU for the peer if they are scarce. Unused on an isolated CPU.
constexpr Time idle_awake = 4 * microsecond, idle_awake_polling = 40 * microsecond;
/// The first and the longest sleep of an idle router's poll core where a device cannot wake it: the latency that it
/// adds to a packet.
constexpr Time shortest_idle_sleep = 20 * microsecond, longest_idle_sleep = 100 * microsecond;
/// Frames that may be staged for one device of a router (datapath/link). A 64 KB TCP packet becomes 33 frames at
/// IPoIB's MTU: this is room for thirty such packets. Fewer: drops in bursts. More: longer queues, and as many buffers
/// of the pool.
constexpr std::size_t link_stage = 1024;

/// Packets that one thread may have handed to another and that this has not taken yet, at a device with fewer queues
/// than threads (pmd/rss). Fewer: drops when a thread does not run for a while. More: longer queues, and as many
/// buffers.
constexpr unsigned handover_ring = 512;
/// How long a thread may not run while such a ring to it is full, until what is for it is dropped (pmd/rss). Shorter:
/// drops where threads share a CPU. Longer: it holds up the flows of other threads for as long, once.
constexpr Time handover_stall = 20 * millisecond;

// RDMA transport.

/// Packets in flight of all requesters of a poll core together (datapath/transport). It is also the largest window, so
/// at most 1024. Fewer: a long path is not filled (1024 packets of 4 KB are 100 Gb/s over 330 us). More than the rings
/// and buffers of the path can hold are lost and retransmitted.
constexpr std::uint32_t packets_under_way = 1024;
/// Out-of-order packets that a poll core keeps for reordering, over all its queue pairs and at most half of the pool
/// (datapath/rdma). Fewer: a loss on a fast path costs a go-back-N retransmission. More: more buffers that peers can
/// make us hold.
constexpr std::uint32_t kept_packets = 4096;
/// How long they are kept (datapath/transport): many round trips, even of a peer that is descheduled. A hostile peer
/// can hold its share of the buffers for so long.
constexpr Time longest_kept = second;
/// Packets of a message after which an acknowledgement is requested (datapath/transport). Fewer: more ACKs. More: loss
/// is detected later, and the window moves in larger steps.
constexpr std::uint16_t ack_interval = 32;

// Packet buffers. Untouched buffers are not resident.

/// Of a gateway or host (apps/verbline), for all ports, including 64 KB chains. 16 K buffers are 42 MB.
constexpr unsigned router_packets = 16'383;
/// Of a hub (apps/verbline): frames in transit, frames queued for full receivers, and copies of multicast frames.
constexpr unsigned hub_packets = 4095;
/// How many of these may be queued for full receivers, in total. More: a few stalled programs can starve the others.
constexpr unsigned hub_packets_waiting = 2560;
/// Memory that DPDK may use in a verbs program (apps/libibverbs/port), MB.
constexpr unsigned program_memory_mb = 256;

// Devices.

/// Slots of a memif ring, log2: by default (pmd/factory), and between verbs programs on a `memif:` link
/// (apps/libibverbs/port). Fewer fit the caches better (a frame of 2 KB, both sides together: 95 ns with 128 slots, 109
/// with 1024, 133 with 4096); more absorb the time in which the peer does not run.
constexpr unsigned memif_log2_ring = 10, program_memif_log2_ring = 9;
/// Send buffer of an Ethernet interface's (`eth:`) packet socket, bytes (pmd/packet). Fewer: drops in bursts.
constexpr int packet_send_buffer = 4 << 20;
/// Receives posted to an RDMA device, requests that it may have to send, and destinations whose address handles are
/// kept, for each queue of it (pmd/hca). Fewer: drops in bursts, or when a thread does not run for a while; handles are
/// made again. More: as many buffers of the pool.
constexpr std::uint32_t hca_receives = 1024, hca_sends = 1024;
constexpr std::size_t hca_address_handles = 1024;
/// Longest datagram that is copied into its work request, bytes (pmd/hca): an ARP packet, or a TCP segment without
/// data. Longer: more of the CPU's time. Shorter: the device reads more from memory, which adds latency.
constexpr std::uint32_t hca_inline = 128;
/// How often a device of pmd/hca that is gone is looked for. Less often: packets flow later after it is back.
constexpr Time hca_reopen_period = 250 * millisecond;
/// Frames that may wait to be written to a capture file (pmd/capture); further ones are not captured, and counted. Each
/// holds a buffer.
constexpr unsigned capture_ring = 4096;

// The hub's switch (pmd/bridge).

/// Frames that may be queued for one full receiver. More: longer pauses of a program without loss, more latency.
constexpr std::size_t switch_waiting = 256;
/// Frames taken from one port before the next is polled.
constexpr std::size_t switch_share = 32;
/// How long an idle switch spins before it sleeps. More: less latency, more CPU spent idle.
constexpr Time switch_spin = 10 * microsecond;

// Verbs programs (apps/libibverbs/objects).

/// How long a thread that waits for a completion event spins before it sleeps: about the cost of sleeping and waking.
constexpr Time poll_before_sleep = 5 * microsecond;

// Control thread.

/// Lifetime of a cached path record while no event invalidates it, and of the negative entry that there is no path
/// (control/sa). Less: more queries; a hit takes 25 ns, a query to OpenSM 107 us.
constexpr Time path_lifetime = 600 * second, no_path_lifetime = 2 * second;
/// Capacity of the path cache (control/sa); the least used entry is evicted.
constexpr std::size_t cached_paths = 65'536;
/// Requests to the subnet administrator that are outstanding at the same time, and that are queued behind them
/// (control/mad). More outstanding: faster path resolution, more load on the subnet manager that all share.
constexpr std::size_t requests_outstanding = 64, requests_queued = 4096;
/// How long a neighbour stays REACHABLE after a confirmation (datapath/neighbour): RFC 4861's REACHABLE_TIME.
constexpr Time neighbour_reachable = 30 * second;

// Bounds on state that peers can create.

/// Half-open requests of peers, and closed endpoints that still finish their exchange or TIMEWAIT, of one connection
/// manager (control/cm): below 1 KB each. Fewer: a burst of honest clients is rejected sooner.
constexpr std::size_t half_open_connections = 16'384, closing_connections = 16'384;
/// Connections to a hub that have no lane yet, and how long one may stay in that state (control/hub).
constexpr std::size_t hub_strangers = 64;
constexpr Time hub_join_limit = 5 * second;

}  // namespace verbline::tunables

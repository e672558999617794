// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// memif version 2.0, as in DPDK and VPP: messages on a SOCK_SEQPACKET Unix socket, rings in shared memory.
///
///     client                                server
///       ── connect ──────────────────────────>
///       <───────────────────────────── hello ──
///       ── init ─────────────────────────────>       each answered by `ack`
///       ── add_region (with its descriptor) ─>
///       ── add_ring (with an eventfd), each ─>
///       ── connect ──────────────────────────>
///       <───────────────────────── connected ──
///
/// The client owns the memory. In a client-to-server ring the client fills slots and advances `head`, the server frees
/// them and advances `tail`; in a server-to-client ring the client offers empty slots by `head`, the server fills them
/// and advances `tail`. Both are free-running, modulo 2^16. All fields are in host byte order. A side that exits closes
/// the socket, by which the other detects it.

#include <array>
#include <cstddef>
#include <cstdint>

namespace verbline::pmd::memif {

constexpr std::uint16_t version = 0x0200;
constexpr unsigned max_log2_ring_size = 14;
constexpr std::size_t max_regions = 8;

enum class MessageType : std::uint16_t {
    none,
    ack,
    hello,
    init,
    add_region,
    add_ring,
    connect,
    connected,
    disconnect,
};

using Name = std::array<char, 32>;
inline constexpr Name program_name{"verbline"};

struct [[gnu::packed]] Hello {
    Name name;
    std::uint16_t min_version, max_version;
    std::uint16_t max_region;  ///< the highest index, as the two below
    std::uint16_t max_server_to_client_ring, max_client_to_server_ring;
    std::uint8_t max_log2_ring_size;
};

struct [[gnu::packed]] Init {
    std::uint16_t version;
    std::uint32_t id;
    std::uint8_t mode;  ///< 0: Ethernet
    std::array<char, 24> secret;
    Name name;
};

struct [[gnu::packed]] AddRegion {
    std::uint16_t index;
    std::uint64_t size;
};

struct [[gnu::packed]] AddRing {
    static constexpr std::uint16_t client_to_server = 1;  ///< flags

    std::uint16_t flags;
    std::uint16_t index;
    std::uint16_t region;
    std::uint32_t offset;
    std::uint8_t log2_size;
    std::uint16_t private_header_size;
};

struct [[gnu::packed]] Connect {
    Name name;
};

struct [[gnu::packed]] Disconnect {
    std::uint32_t code;
    std::array<char, 96> reason;
};

struct [[gnu::packed]] Message {
    MessageType type;
    union {
        std::array<std::byte, 126> bytes;  ///< first, so that `{}` clears all
        Hello hello;
        Init init;
        AddRegion add_region;
        AddRing add_ring;
        Connect connect;
        Disconnect disconnect;
    };
};
static_assert(sizeof(Message) == 128);

/// One buffer. Read and written as two 64-bit words: the peer may change it at any moment.
struct Descriptor {
    static constexpr std::uint16_t more = 1;  ///< flags: the frame continues in the next slot

    std::uint16_t flags;
    std::uint16_t region;
    std::uint32_t length;
    std::uint32_t offset;
    std::uint32_t metadata;
};
static_assert(sizeof(Descriptor) == 16);

/// Followed by its descriptors.
struct RingHeader {
    static constexpr std::uint32_t magic = 0x3e31f20;
    static constexpr std::uint16_t polled = 1;  ///< flags: the consumer polls; no eventfd signals

    alignas(64) std::uint32_t cookie;
    std::uint16_t flags;
    std::uint16_t head;
    alignas(64) std::uint16_t tail;
};
static_assert(sizeof(RingHeader) == 128);

constexpr std::size_t ring_bytes(unsigned log2_size) {
    return sizeof(RingHeader) + (sizeof(Descriptor) << log2_size);
}

}  // namespace verbline::pmd::memif

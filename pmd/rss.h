// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Receive-side scaling: the Toeplitz hash of addresses and ports, and a redirection table from the hash's low bits to
/// receive queues. From it a sender can compute which source port makes a flow arrive at a given queue.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

struct rte_mbuf;

namespace verbline::pmd {

enum class Carries : std::uint8_t;

struct RssTable {
    std::vector<std::uint8_t> key;      ///< of the hash: 40 bytes or more
    std::vector<std::uint16_t> queues;  ///< redirection table; its size is a power of two
    bool udp_ports = true;              ///< ports of UDP packets are hashed, too; else addresses alone
};

/// Hashes packets as a NIC with RSS does, for devices that spread them over queues in software: those know no
/// protocols. Any number of threads may call it at a time.
class FlowHash {
public:
    /// The hash of a packet that belongs to no flow (ARP, for example). A flow may have it by chance: it is treated as
    /// such packets are, always.
    static constexpr std::uint32_t none = 0;

    FlowHash() = default;
    FlowHash(const FlowHash&) = delete;
    FlowHash& operator=(const FlowHash&) = delete;
    virtual ~FlowHash() = default;

    /// The key of the hash, as in RssTable.
    virtual std::span<const std::uint8_t> key() const = 0;
    /// Hashes the packets, which begin with what `carries` names, into the front of `hashes`. A function of the flow
    /// alone: all packets of one flow have the same hash, independent of bursts.
    virtual void hash(Carries carries, std::span<rte_mbuf* const> packets,
                      std::span<std::uint32_t> hashes) const noexcept = 0;
};

}  // namespace verbline::pmd

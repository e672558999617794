// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The requester's side of selective acknowledgement: which outstanding packets the peer has, and which must be
/// retransmitted.
///
/// A packet counts as missing if one sent after it has arrived. Once retransmitted, it counts as missing again only
/// when a packet sent after the retransmission has arrived; so each loss is repaired once per round trip, and
/// reordering is not taken for loss twice. A peer short of buffers evicts packets it has reported, highest PSN first:
/// the newest report overrides earlier ones.
///
/// Borrowed from a pool while there are gaps; packets between `acknowledged` and `acknowledged` + 1024 fit.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "datapath/wire/bytes.h"
#include "datapath/wire/types.h"

namespace verbline::transport {

class ResendSet {
public:
    static constexpr std::uint32_t size = 1024;

    void reset(wire::Psn acknowledged);

    /// Applies a report: the peer misses `expected` and has the packets in `map` behind it. `next` is the first PSN
    /// never sent.
    void update(wire::Psn expected, wire::Bytes map, wire::Psn next);
    /// Marks `expected` as missing, overriding earlier reports.
    void misses(wire::Psn expected);
    /// All packets before `psn` are acknowledged.
    void advance(wire::Psn psn);

    /// The next packet to retransmit, or nullopt; call `pop` after sending it, with the first PSN never sent.
    std::optional<wire::Psn> front() const;
    void pop(wire::Psn next);

    /// True once everything up to the highest reported packet is acknowledged: no gap is left.
    bool closed() const { return highest_ - acknowledged_ < 0; }

private:
    struct Packet {
        bool arrived = false;
        bool resent = false;
        wire::Psn after;  ///< if resent: the first PSN not yet sent at that time
    };

    Packet& at(wire::Psn psn) { return packets_[psn.value() % size]; }
    const Packet& at(wire::Psn psn) const { return packets_[psn.value() % size]; }
    bool missing(wire::Psn psn) const;
    void withdraw(wire::Psn psn);

    wire::Psn acknowledged_, highest_;
    wire::Psn scan_;  ///< no packet before it is missing
    std::array<Packet, size> packets_{};
};

class ResendPool {
public:
    explicit ResendPool(std::size_t limit) : limit_(limit) {}

    ResendSet* borrow();  ///< returns nullptr if all are in use
    void give_back(ResendSet* set) noexcept { free_.push_back(set); }

private:
    std::size_t limit_;
    std::vector<std::unique_ptr<ResendSet>> all_;
    std::vector<ResendSet*> free_;
};

}  // namespace verbline::transport

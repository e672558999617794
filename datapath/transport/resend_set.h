// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The requester's side of selective acknowledgement: which of the outstanding packets the peer is known to have, and
/// which are to be sent again.
///
/// A packet is missing if one sent after it has arrived. Sent again, it is missing once more only when something sent
/// after *that* has arrived; so each loss is repaired once per round trip, and reordering is not taken for loss twice.
/// What has arrived may be missing later: a peer whose buffers run short gives up what it kept, the last first. So the
/// newest report counts, and not what earlier ones said.
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

    /// What the peer said: it misses `expected`, and has those of `map` behind it. `next` is the next PSN never sent.
    void update(wire::Psn expected, wire::Bytes map, wire::Psn next);
    /// The peer misses `expected`, whatever it said before.
    void misses(wire::Psn expected);
    /// All before `psn` are acknowledged.
    void advance(wire::Psn psn);

    /// The next packet to send again; it counts as sent once `pop` is called.
    std::optional<wire::Psn> front() const;
    void pop(wire::Psn next);

    /// Everything up to the highest known to have arrived is acknowledged: the gaps are closed.
    bool closed() const { return highest_ - acknowledged_ < 0; }

private:
    struct Packet {
        bool arrived = false;
        bool resent = false;
        wire::Psn after;  ///< if resent: the PSN that was next then
    };

    Packet& at(wire::Psn psn) { return packets_[psn.value() % size]; }
    const Packet& at(wire::Psn psn) const { return packets_[psn.value() % size]; }
    bool missing(wire::Psn psn) const;
    void withdraw(wire::Psn psn);

    wire::Psn acknowledged_, highest_;
    wire::Psn scan_;  ///< none is missing before
    std::array<Packet, size> packets_{};
};

class ResendPool {
public:
    explicit ResendPool(std::size_t limit) : limit_(limit) {}

    ResendSet* borrow();  ///< nullptr: all are in use
    void give_back(ResendSet* set) noexcept { free_.push_back(set); }

private:
    std::size_t limit_;
    std::vector<std::unique_ptr<ResendSet>> all_;
    std::vector<ResendSet*> free_;
};

}  // namespace verbline::transport

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The responder's record of executed READs and atomics: enough to answer them, and to answer duplicates (IBTA volume
/// 1, 9.7.5.1.1: "responder resources").
///
/// A ring with an entry for each request that the peer may have outstanding. An atomic must not be executed twice, so
/// its result is kept; a READ is read again. An entry whose response is not fully sent is pending; pending entries are
/// answered in order.

#include <cstdint>
#include <vector>

#include "datapath/memory/access.h"
#include "datapath/wire/types.h"

namespace verbline::transport {

struct Response {
    enum class Kind : std::uint8_t { none, read, atomic, done /* FLUSH, ATOMIC WRITE: nothing but "done" */ };

    Kind kind = Kind::none;
    wire::Psn first;
    std::uint32_t packets = 0;
    std::uint32_t next = 0, end = 0;  ///< response packets still to send; pending while next < end
    std::uint32_t part_begin = 0;     ///< first packet of the part requested last, sent as FIRST or ONLY
    bool answered = false;            ///< fully sent once: the peer may have it and send its next request
    std::uint32_t msn = 0;
    std::uint64_t address = 0;   ///< READ
    std::uint64_t original = 0;  ///< atomic
    wire::RKey rkey{};
    std::uint32_t length = 0;
    memory::PdId pd{};  ///< protection domain that the key must belong to

    bool pending() const { return next < end; }
    bool holds(wire::Psn psn) const {
        return kind != Kind::none && psn - first >= 0 && psn - first < static_cast<std::int32_t>(packets);
    }
};

class ResponseQueue {
public:
    void resize(std::uint8_t entries) {
        ring_.assign(entries, {});
        newest_ = 0;
    }

    /// Returns the entry for a new request; nullptr if the peer exceeds the agreed number of outstanding requests. An
    /// entry that is only being answered again is reused: a new request implies that the peer has its response.
    Response* add() {
        if (ring_.empty()) return nullptr;
        const auto slot = (newest_ + 1) % ring_.size();
        if (ring_[slot].pending() && !ring_[slot].answered) return nullptr;
        newest_ = slot;
        return &ring_[slot];
    }

    Response* find(wire::Psn psn) {
        for (auto& entry : ring_) {
            if (entry.holds(psn)) return &entry;
        }
        return nullptr;
    }

    /// The oldest pending entry, or nullptr.
    Response* pending() {
        for (std::size_t i = 1; i <= ring_.size(); ++i) {
            auto& entry = ring_[(newest_ + i) % ring_.size()];
            if (entry.pending()) return &entry;
        }
        return nullptr;
    }

private:
    std::vector<Response> ring_;
    std::size_t newest_ = 0;
};

}  // namespace verbline::transport

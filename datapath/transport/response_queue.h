// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a responder keeps of the READs and atomics it has executed: enough to answer them, and to answer them again if
/// the answer is lost (IBTA volume 1, 9.7.5.1.1: "responder resources").
///
/// A ring of as many as the peer may have outstanding. An atomic must not be executed twice: its result is kept. A READ
/// is read again. An entry whose answer is not yet wholly sent is pending; pending ones are answered in order.

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
    std::uint32_t next = 0, end = 0;  ///< packets to be sent (again); pending while next < end
    std::uint32_t part_begin = 0;     ///< where the part that was asked for last begins: its first response is FIRST
    bool answered = false;            ///< all of it was sent once: the peer may have it, and go on
    std::uint32_t msn = 0;
    std::uint64_t address = 0;   ///< READ
    std::uint64_t original = 0;  ///< atomic
    wire::RKey rkey{};
    std::uint32_t length = 0;
    memory::PdId pd{};  ///< that the key must be of

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

    /// Room for one more; nullptr: as many as were agreed on are unanswered already. A peer that asks for more has what
    /// it asked for before: what is only being repeated makes way, as a repetition may cross the answer.
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

    /// The oldest that has something to send.
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

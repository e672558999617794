// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Cuts one message into RMPP segments and sends them as far as the receiver's window allows (IBTA volume 1, 13.6).
///
///     message: │ headers │ data ... │     segment n: │ headers, with number n │ next piece of the data │
///
/// Pure: segments out, acknowledgements and time in.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "control/mad/transport.h"
#include "datapath/wire/sa.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

class RmppSender {
public:
    using Segments = std::vector<mad::MadBuffer>;
    enum class State : std::uint8_t { sending, acknowledged, failed };

    /// `message`: headers and data, longer than the headers of its class. `timeout`: for an acknowledgement, before
    /// segments are repeated, `retries` times.
    RmppSender(std::vector<std::byte> message, Time timeout, unsigned retries);

    /// The first segment; the rest waits for its acknowledgement.
    void start(Time now, Segments& out);
    /// An ACK, STOP or ABORT of the receiver.
    State answered(const wire::Rmpp& answer, Time now, Segments& out);
    /// Call at or after `due()`.
    State tick(Time now, Segments& out);
    Time due() const { return due_; }

private:
    mad::MadBuffer segment(std::uint32_t number) const;
    void send_window(Time now, Segments& out);

    std::vector<std::byte> message_;
    std::size_t headers_ = 0;         ///< bytes, in each segment
    std::uint32_t count_ = 1;         ///< of segments
    std::uint32_t acknowledged_ = 0;  ///< last segment
    std::uint32_t sent_ = 0, window_ = 1;
    Time timeout_, due_ = 0;
    unsigned retries_, left_;
};

}  // namespace verbline::verbs

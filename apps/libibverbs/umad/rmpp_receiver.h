// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Assembles one message from RMPP segments, which may come in any order and repeatedly (IBTA volume 1, 13.6).
///
/// Pure: segments in, acknowledgements out.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "control/mad/transport.h"
#include "datapath/wire/sa.h"

namespace verbline::verbs {

class RmppReceiver {
public:
    static constexpr std::uint32_t window = 64;  ///< segments that the sender may send unacknowledged

    /// A DATA segment, of one transfer. Returns the acknowledgement to send back, if one is due.
    std::optional<mad::MadBuffer> received(mad::MadBytes segment, const wire::Rmpp& header);
    /// All segments are there: `message` has been assembled.
    bool complete() const { return last_ != 0 && received_ == last_; }
    /// The headers of the first segment, and the data of all; valid when complete. What was taken is gone; the object
    /// goes on acknowledging repeated segments.
    std::vector<std::byte> take() { return std::move(message_); }
    std::size_t size() const { return message_.size(); }

private:
    void append(const mad::MadBuffer& segment);
    mad::MadBuffer acknowledgement(mad::MadBytes segment) const;

    std::map<std::uint32_t, mad::MadBuffer> ahead_;  ///< segments behind a missing one
    std::vector<std::byte> message_;
    std::uint32_t received_ = 0;      ///< all segments up to this one
    std::uint32_t last_ = 0;          ///< number of the last segment; 0: not known
    std::uint32_t granted_ = window;  ///< number of the last segment that may be sent
};

}  // namespace verbline::verbs

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The broker of direct links between two hosts of one switch: the hub, as its client sees it (control/hub/client.h).

#include <cstdint>
#include <optional>

#include "datapath/wire/types.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::pmd {

/// The broker's number of a link.
enum class DirectId : std::uint32_t {};

/// An event of the broker about a link.
struct DirectNews {
    enum class Kind : std::uint8_t {
        granted,  ///< our request succeeded; this side is memif's client
        refused,
        offered,  ///< the peer has requested a link; this side is memif's server
    };
    Kind kind{};
    wire::MacAddress peer{};
    DirectId id{};          ///< 0 if refused
    int code = 0;           ///< of a refusal: an errno value (Registry::link_directly of control/hub says which)
    FileDescriptor socket;  ///< SOCK_SEQPACKET, non-blocking; none if refused, or if the process had no descriptor left
};

/// Control thread. Nothing here blocks.
class DirectBroker {
public:
    virtual ~DirectBroker() = default;
    /// Descriptor that is readable when `next_news` may have an event.
    virtual int event() const = 0;
    /// Requests a link with `peer`; the result arrives as `DirectNews`. False if no request can be sent right now.
    virtual bool ask(wire::MacAddress peer) = 0;
    virtual std::optional<DirectNews> next_news() = 0;
    /// Reports that the link has ended on this side; another may be requested.
    virtual void end(DirectId id) = 0;
};

}  // namespace verbline::pmd

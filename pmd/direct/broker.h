// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Who introduces two hosts of one switch to each other: a hub, as a client sees it (control/hub/client.h).

#include <cstdint>
#include <optional>

#include "datapath/wire/types.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::pmd {

/// A link, as the broker numbers them.
enum class DirectId : std::uint32_t {};

/// What the broker has to say of a link.
struct DirectNews {
    enum class Kind : std::uint8_t {
        granted,  ///< we have asked, and are memif's client
        refused,
        offered,  ///< the peer has asked, and we are memif's server
    };
    Kind kind{};
    wire::MacAddress peer{};
    DirectId id{};          ///< 0: refused
    int code = 0;           ///< of a refusal: an errno value (Registry::link_directly of control/hub says which)
    FileDescriptor socket;  ///< SOCK_SEQPACKET, not blocking; none: refused, or there were no descriptors left here
};

/// Control thread. Nothing here blocks.
class DirectBroker {
public:
    virtual ~DirectBroker() = default;
    /// Readable when there may be news.
    virtual int event() const = 0;
    /// News will tell whether there is to be a link. False: it cannot be asked right now.
    virtual bool ask(wire::MacAddress peer) = 0;
    virtual std::optional<DirectNews> next_news() = 0;
    /// The link of these news has ended here; another may be asked for.
    virtual void end(DirectId id) = 0;
};

}  // namespace verbline::pmd

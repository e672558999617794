// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Which members of a node have which XRC domains open, and the target queue pairs in these (xrc_messages.h).
///
/// Pure: no I/O, no clock. Owned by the control thread.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "control/hub/protocol.h"

namespace verbline::hub {

enum class LaneId : std::uint16_t;

class XrcRegistry {
public:
    static constexpr std::size_t max_domains = 256, max_targets = 1024;  ///< of one member

    /// Device and inode: processes with descriptors of one file have one domain.
    using File = std::pair<dev_t, ino_t>;
    template <class T>
    using Answer = std::expected<T, Refused>;

    /// EAGAIN: nobody has it open, and it is not to be created. EINVAL: it is to be exclusive, and is not. Repeating a
    /// request is no error.
    Answer<XrcDomainId> open_domain(LaneId member, const File& file, const OpenXrcDomain& how);
    /// The member closes its handles in the domain, too. Returns the targets of which these were the last.
    Answer<std::vector<XrcTarget>> close_domain(LaneId member, XrcDomainId domain);
    /// A target in state RESET, of which the member has a handle. ENOMEM: all numbers are taken.
    Answer<wire::Qpn> create(LaneId member, XrcDomainId domain);
    /// One more handle. EINVAL: there is no such target in the domain, or the member has not opened that.
    Answer<void> open(LaneId member, const OpenXrcTarget& wanted);
    /// One handle less. Returns the target if it was the last.
    Answer<std::vector<XrcTarget>> close(LaneId member, wire::Qpn target);
    /// Replaces state and attributes. Returns the target, the change counted.
    Answer<XrcTarget> set(LaneId member, const XrcTarget& wanted);
    /// The node has sent this NAK, or passed it on.
    std::optional<XrcTarget> fail(wire::Qpn target, wire::NakCode nak);
    /// The member has ended. Returns the targets of which it had the last handle.
    std::vector<XrcTarget> leave(LaneId member);

    const XrcTarget* find(wire::Qpn target) const;
    std::set<LaneId> members(XrcDomainId domain) const;
    std::vector<XrcTarget> targets(XrcDomainId domain) const;
    std::vector<XrcTarget> targets() const;
    /// Who has handles of the target.
    std::vector<LaneId> openers(wire::Qpn target) const;
    /// In how many domains the member is.
    std::size_t domains(LaneId member) const;

private:
    struct Domain {
        File file;
        std::set<LaneId> members;
    };
    struct Target {
        XrcTarget shown;
        std::map<LaneId, std::size_t> handles;
    };

    bool has_open(LaneId member, XrcDomainId domain) const;
    std::size_t handles(LaneId member) const;
    std::vector<XrcTarget> erase_without_handles();

    std::map<XrcDomainId, Domain> domains_;
    std::map<wire::Qpn, Target> targets_;
    std::uint32_t last_domain_ = 0, last_target_ = 0;
};

}  // namespace verbline::hub

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Rules by which a device itself sends RoCE v2 to receive queues: by destination QPN, so that each queue has queue
/// pairs of its own whatever ports the peers send from; or, where it cannot match the base transport header, by UDP
/// port 4791 and RSS. Which rules there are to be is decided here, without DPDK; a FlowTable is the device's.
///
///     by QPN             QPN modulo a power of two ──> queue        one rule for each remainder and version of IP
///     by QPN, group 1    4791 ──> group 1; there the same           for devices that match it behind group 0 alone
///     by UDP port        4791 ──> RSS over the queues, or the only queue
///
/// The first kind is installed of which the device takes every rule. Packets of other kinds go where they went before:
/// by RSS, or, of an isolated port, to the kernel.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pmd/base/error.h"

namespace verbline::pmd {

/// Matches RoCE v2 of one version of IP.
struct FlowRule {
    struct Qpns {
        std::uint32_t value = 0, mask = 0;  ///< of the 24 bits of a destination QPN
        bool operator==(const Qpns&) const = default;
    };
    struct ToQueue {
        std::uint16_t queue = 0;
        bool operator==(const ToQueue&) const = default;
    };
    struct ToQueues {
        std::uint16_t queues = 0;  ///< the first so many, by RSS
        bool operator==(const ToQueues&) const = default;
    };
    struct ToGroup {
        std::uint32_t group = 0;
        bool operator==(const ToGroup&) const = default;
    };

    std::uint32_t group = 0;
    bool ipv6 = false;
    std::optional<Qpns> qpns = {};  ///< none: all
    std::variant<ToQueue, ToQueues, ToGroup> action;

    bool operator==(const FlowRule&) const = default;
};

/// The rules of a device. They end with it.
class FlowTable {
public:
    FlowTable() = default;
    FlowTable(const FlowTable&) = delete;
    FlowTable& operator=(const FlowTable&) = delete;
    virtual ~FlowTable() = default;

    /// Whether queue pairs can be told apart at all.
    virtual bool knows_qpns() const = 0;
    /// Why the device would not take it, in the driver's words.
    virtual Result<void> validate(const FlowRule& rule) = 0;
    virtual Result<void> create(const FlowRule& rule) = 0;
    /// Removes all that were created.
    virtual void clear() = 0;
};

enum class RoceMatch : std::uint8_t { none, udp_port, qpn };
std::string_view name_of(RoceMatch match);

struct RoceRules {
    RoceMatch match = RoceMatch::none;
    std::size_t count = 0;                  ///< rules
    std::vector<std::string> refused = {};  ///< of better kinds: "by QPN: ..."
};

/// `queues`: receive queues of the device.
RoceRules install_roce_rules(FlowTable& table, std::uint16_t queues);

}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A queue pair number that is shared with the kernel's IPoIB interface: whose it is, and what is taken from it.
///
/// The interface stays with the kernel, which answers ARP and neighbour discovery, and is the member of groups. The
/// number outlives this process, so that neighbours' caches stay right.

#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "pmd/base/error.h"
#include "pmd/hca/flow_rules.h"
#include "pmd/hca/kernel_groups.h"
#include "pmd/hca/kernel_interface.h"
#include "pmd/hca/port.h"

namespace verbline::pmd::hca {

/// Control thread.
class SharedNumber {
public:
    /// Of `interface`. Error, in one line: the interface is not of that port, or the device has no such numbers.
    static Result<std::unique_ptr<SharedNumber>> find(const std::string& interface, const ibv_context& context,
                                                      std::uint8_t port, const PortFacts& facts,
                                                      const std::filesystem::path& sys);

    wire::Qpn number() const { return kernel_.number; }
    /// In place of `refusal`, with which the device did not make a queue pair of that number.
    Error explain(const Error& refusal) const;

    /// The queue pair that receives; it must outlive the rules. Before all below.
    void set_receiver(const Verbs& verbs, ibv_qp& queue_pair) { rules_.emplace(verbs, queue_pair, port_); }
    FlowRules& rules() { return *rules_; }

    /// Groups that no rule can name are refused, but for broadcast: it stays with the kernel, as ARP is in it.
    std::error_code attach(const wire::Gid& group);
    std::error_code detach(const wire::Gid& group);

private:
    SharedNumber(std::string interface, std::string device, std::uint8_t port, const KernelInterface& kernel)
        : interface_(std::move(interface)),
          device_(std::move(device)),
          port_(port),
          kernel_(kernel),
          groups_(kernel.index) {}

    const std::string interface_, device_;
    const std::uint8_t port_;
    const KernelInterface kernel_;
    KernelGroups groups_;  ///< whose packets come to the number while the interface is a member
    std::optional<FlowRules> rules_;
};

}  // namespace verbline::pmd::hca

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A node of the simulation: a connection manager, its channel into the network with the network's fates, its clock,
/// and which user has which endpoint.

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "control/cm/message.h"
#include "tests/sim/cm_scene.h"

namespace verbline::sim {

wire::Gid gid_of(unsigned node);

class CmNode final : public mad::GmpChannel {
public:
    /// That there is something for a user.
    using Told = std::function<void(CmUser&)>;
    CmNode(CmScene& scene, unsigned number, Told told);

    cm::Manager& manager() { return *manager_; }
    unsigned number() const { return number_; }
    /// From now on the endpoint is this user's.
    void belongs(CmUser& user, cm::EndpointPointer endpoint);
    /// It is dropped, with what follows from it.
    void drop(CmUser& user);
    /// Everything is forgotten, and begins anew.
    void restart();
    /// After anything that may have moved the manager's deadline.
    void watch();

    wire::Qpn take_qpn();
    void give_back(wire::Qpn qpn) { free_qpns_.push_back(qpn); }

    void send(const mad::GmpPeer& to, mad::MadBytes mad) noexcept override;
    /// What its manager counted joins the summary.
    void count();

private:
    void start();
    void on_ready(cm::Endpoint& endpoint);
    bool lose(unsigned to, const mad::MadBuffer& mad);
    void arrive(unsigned from, const mad::MadBuffer& mad);
    void deliver(unsigned to, const mad::MadBuffer& mad);

    CmScene& scene_;
    unsigned number_, lives_ = 0;
    std::uint64_t seed_;
    Told told_;
    cm::Manager::Pointer manager_;
    std::unordered_map<const cm::Endpoint*, CmUser*> by_endpoint_;
    std::unordered_map<std::uint64_t, unsigned> lost_in_row_;
    std::optional<Time> planned_;  ///< a tick
    std::uint32_t next_qpn_ = 0x100;
    std::vector<wire::Qpn> free_qpns_;
};

}  // namespace verbline::sim

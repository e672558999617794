// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// XRC domains and target queue pairs that this program shares with others of its node (control/hub/xrc_messages.h).
///
///     program ── create, open, change ──> XrcSharing ──> the node ──> XrcSharing of the others
///                                             │                            │
///                                             └── a queue pair of the target's number in each, to which the
///                                                 node passes requests for its shared receive queues
///
/// Each program of a domain has each of its targets, whether it has opened that or not.
///
/// Threads: any, serialised by the hub's mutex; functions block until the node has answered. `follow` by the one that
/// runs the link's upkeep.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "apps/libibverbs/link/link.h"
#include "control/hub/client.h"
#include "datapath/rdma/device.h"
#include "datapath/rdma/queue_pair.h"

namespace verbline::verbs {

/// A domain as its program knows it. Void once the node has been restarted.
struct SharedDomain {
    hub::XrcDomainId id{};
    unsigned epoch = 0;
    rdma::XrcDomain native;
};

class XrcSharing {
public:
    /// `hub_mutex` serialises requests to the hub, which other parts of the port make, too. `on_event`: of targets that
    /// have failed in another program.
    XrcSharing(const OpenedLink& link, std::mutex& hub_mutex, transport::AsyncEventHandler on_event)
        : link_(link), hub_mutex_(hub_mutex), on_event_(std::move(on_event)) {}
    XrcSharing(const XrcSharing&) = delete;
    XrcSharing& operator=(const XrcSharing&) = delete;

    /// Before any other call. The device outlives the object.
    void use(rdma::Device& device) { device_ = &device; }
    /// Whether the link is a node, whose programs share domains.
    bool available() const { return link_.lane.member.has_value(); }

    /// Once for each file; errors as of hub::open_xrc_domain.
    Result<SharedDomain> open_domain(int file, const hub::OpenXrcDomain& how);
    void close_domain(const SharedDomain& domain);

    /// A handle of a new target, or of one that any program of the domain has made (EINVAL: there is none). Each is
    /// destroyed, and then closed.
    Result<std::unique_ptr<rdma::QueuePair>> create(const SharedDomain& domain);
    Result<std::unique_ptr<rdma::QueuePair>> open(const SharedDomain& domain, wire::Qpn target);
    void close(const SharedDomain& domain, wire::Qpn target);
    /// Changes state and attributes of a target that the program has a handle of, here and then in all the others.
    Result<void> change(const SharedDomain& domain, const hub::XrcTarget& wanted);
    /// As it was changed last, by whomever. Nullopt: the program has no such target.
    std::optional<hub::XrcTarget> find(wire::Qpn target);

    /// Makes targets as others have made or changed them.
    void follow();
    /// The node has been restarted, and knows of nothing. Requires the hub's mutex.
    void forget();

private:
    struct Target {
        std::unique_ptr<rdma::QueuePair> pair;
        hub::XrcTarget shown;
    };

    Result<void> check(const SharedDomain& domain) const;
    void take_news();
    bool await(wire::Qpn target);
    Result<Target*> target_of(const hub::XrcTarget& wanted);
    Result<void> apply(const hub::XrcTarget& wanted);
    Result<void> connect(Target& target, const hub::XrcTarget& wanted) const;

    const OpenedLink& link_;
    std::mutex& hub_mutex_;
    transport::AsyncEventHandler on_event_;
    rdma::Device* device_ = nullptr;
    unsigned epoch_ = 0;
    std::map<hub::XrcDomainId, rdma::XrcDomain> domains_;
    std::map<wire::Qpn, Target> targets_;
};

}  // namespace verbline::verbs

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port of the verbs library as RDMA CM needs it: addresses, a connection manager over its QP1, neighbours, groups,
/// and port numbers. This class serves Ethernet; FabricNetwork derives from it.
///
/// Threads: requires the service (CmEngine), except `arrivals` and `port` (any thread).

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "apps/libibverbs/port/port.h"
#include "apps/libibverbs/ucma/port_watch.h"
#include "control/cm/manager.h"
#include "control/loop/loop.h"
#include "control/mad/gsi.h"
#include "control/rdmacm/network.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"
#include "pmd/base/event_descriptor.h"
#include "pmd/base/time.h"

namespace verbline::verbs {

class PortNetwork : public rdmacm::NetworkPort {
public:
    using Task = std::function<void()>;
    /// Callbacks into the engine.
    struct Callbacks {
        std::function<void(cm::Endpoint&)> on_ready;    ///< cm::Manager::Options
        std::function<void(Task)> later;                ///< runs the task on the control thread, without the service
        std::function<void(const Task&)> with_service;  ///< runs the task at once, with the service
        /// rdmacm::Service::bound; called with the service.
        std::function<bool(const rdmacm::NetworkPort& port, wire::CmServiceId service)> bound;
        /// rdmacm::Service::port_changed; called with the service.
        std::function<void(const rdmacm::NetworkPort& port, bool removed)> changed;
        std::function<bool()> holds_service;  ///< this thread does, and will `receive` before release
        std::function<Time()> now;            ///< monotonic, and cheap
        control::Loop* loop = nullptr;        ///< the control thread's
    };
    /// EBUSY: the port's QP1 is in use already in this process.
    static Result<std::unique_ptr<PortNetwork>> create(VerbsPort& port, Callbacks callbacks);
    ~PortNetwork() override;

    VerbsPort& port() { return port_; }
    /// Readable while MADs are pending and no thread is about to drain them: the polling thread neither held the
    /// service nor was the helper of a machine of one CPU.
    int arrivals() const { return arrivals_.get(); }
    void clear_arrivals() const;
    /// True if MADs have been reported since the last `receive`.
    bool arrived() const { return arrived_.load(std::memory_order_relaxed); }
    /// Makes the descriptor readable, so that the control thread receives the MADs.
    void notify_others() const;
    void receive();
    virtual void tick(Time now);
    virtual std::optional<Time> deadline() const;
    virtual void counters(const CounterVisitor& visit) const;

    Facts facts() const override;
    cm::Manager& manager() override { return *manager_; }
    std::optional<unsigned> gid_index(const wire::Gid& gid, link::GidType type) const override;
    void find_neighbour(Ticket ticket, const wire::Gid& from, const wire::Gid& to, NeighbourHandler handler) override;
    void find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey, PathHandler handler) override;
    void join(Ticket ticket, const rdmacm::GroupRequest& request, GroupHandler handler) override;
    void leave(Ticket ticket, const wire::Gid& mgid) override;
    void cancel(Ticket ticket) override;
    Result<std::uint16_t> reserve(rdmacm::PortSpace space, std::uint16_t number, const rdmacm::PortUse& use) override;
    Result<void> rebind(rdmacm::PortSpace space, std::uint16_t number, const rdmacm::PortUse& from,
                        const rdmacm::PortUse& to) override;
    void release(rdmacm::PortSpace space, std::uint16_t number, const rdmacm::PortUse& use) override;

protected:
    PortNetwork(VerbsPort& port, Callbacks callbacks, EventDescriptor arrivals);
    static Result<EventDescriptor> make_arrivals(const VerbsPort& port);
    Result<void> start();
    const Callbacks& callbacks() const { return callbacks_; }
    /// Runs on the control thread, without the service.
    void link_changed(const PortWatch::News& news);

private:
    struct Waiting {
        unsigned gid_index;
        wire::Gid to;
        Time until;  ///< for a query that was dropped: one that failed is reported
        NeighbourHandler handler;
    };

    link::GidType usual_type() const;
    /// Whether the interface has been removed, or the hub has ended and has not returned.
    bool gone() const { return interface_gone_ || !port_.joined(); }
    bool missing(const wire::Gid& gid) const;
    void notify_arrivals();
    void answer_resolved(Time now);
    void answer(Ticket ticket, std::optional<wire::MacAddress> mac);
    void joined(Ticket ticket, const rdmacm::GroupRequest& request, Result<void> result);

    VerbsPort& port_;
    const Callbacks callbacks_;
    EventDescriptor arrivals_;
    std::atomic<bool> arrived_{false};
    mad::Gsi* gsi_ = nullptr;
    cm::Manager::Pointer manager_;
    std::map<Ticket, Waiting> waiting_;  ///< for neighbours
    Time next_timeout_ = 0;              ///< of `waiting_`
    std::map<Ticket, GroupHandler> joining_;
    std::vector<wire::Gid> missing_;  ///< addresses that the link has lost
    bool interface_gone_ = false;
    std::unique_ptr<PortWatch> watch_;  ///< the control thread's
};

}  // namespace verbline::verbs

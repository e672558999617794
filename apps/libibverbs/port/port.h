// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device of ours in this process: a link, the RDMA device on it, and the helper thread. Opened once, when the
/// program first opens the device, and kept until the process ends: who closes and opens again keeps its addresses.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "apps/libibverbs/port/hub_broker.h"
#include "apps/libibverbs/port/link.h"
#include "apps/libibverbs/port/link_groups.h"
#include "apps/libibverbs/port/link_ports.h"
#include "apps/libibverbs/port/next_hops.h"
#include "apps/libibverbs/port/owner.h"
#include "apps/libibverbs/port/progress.h"
#include "apps/libibverbs/port/quiet_thread.h"
#include "control/mad/gsi.h"
#include "datapath/rdma/device.h"

namespace verbline::verbs {

/// Objects that ibv_import_... finds by the number that verbs call their handle.
enum class SharedKind : std::uint8_t { protection_domain, memory_region, device_memory };

/// The node GUID of a device with this MAC address, as Linux makes it.
wire::Guid guid_of(const wire::MacAddress& mac);

struct PortIdentity {
    std::string name;          ///< verbline0 and the like
    std::string instance;      ///< unique in the process, and short
    wire::MacAddress own_mac;  ///< for links that have none
    unsigned index = 0;        ///< the N of uverbsN
    bool first = true;         ///< the settings' addresses are its own
};

class Port {
public:
    /// EAL runs already.
    static Result<std::unique_ptr<Port>> open(const PortIdentity& identity, const Link& link, const Settings& settings);
    ~Port();
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    const std::string& name() const { return identity_.name; }
    unsigned index() const { return identity_.index; }
    const OpenedLink& link() const { return link_; }
    rdma::Device& device() { return *device_; }
    const link::GidTable& gids() const { return device_->gids(); }
    LinkGroups& groups() { return groups_; }
    LinkPorts& ports() { return ports_; }
    Progress& progress() { return *progress_; }
    bool infiniband() const { return device_->options().kind == link::GidTable::Kind::ib; }
    wire::Guid guid() const;
    bool active() const;  ///< whether the link is up

    /// The Ethernet address of the next hop towards `to`, from our address `gid_index`. Blocks while neighbours are
    /// asked, up to some seconds. EHOSTUNREACH: nobody answers.
    Result<wire::MacAddress> resolve(unsigned gid_index, const wire::Gid& to);

    /// The same without waiting, nothing if it is not known. On the soft fabric there is none to know: zeros.
    std::optional<wire::MacAddress> next_hop(unsigned gid_index, const wire::Gid& to);
    /// Sends the question. Whoever gets no answer asks again, not sooner than after a second.
    void ask_next_hop(unsigned gid_index, const wire::Gid& to);
    /// Called when there may be an answer to what was asked; by a thread of ours or whoever polls, must not block nor
    /// call back. One at a time; empty: nobody.
    void on_next_hop(std::function<void()> tell) { next_hops_.on_answer(std::move(tell)); }

    /// General services, which begin with the first call. What is sent leaves at once; `Gsi::on_ready` says when there
    /// is something to drain. Who drains and then sleeps says so before (Progress::leave), or the next MAD waits until
    /// the helper finds nobody polling.
    Result<mad::Gsi*> gsi();

    /// Who hears of events; called on the thread that polls, must not block. By an object's identity: the number of a
    /// queue pair, the address of a queue; null: of the port.
    using Listener = std::function<void(const transport::Event&)>;
    void listen(std::uint64_t identity, const void* who, Listener listener);
    void stop_listening(std::uint64_t identity, const void* who);
    static std::uint64_t identity(wire::Qpn qpn) { return static_cast<std::uint32_t>(qpn); }
    static std::uint64_t identity(const void* queue) { return reinterpret_cast<std::uint64_t>(queue); }

    void share(SharedKind kind, std::uint32_t handle, void* object);
    void unshare(SharedKind kind, std::uint32_t handle);
    void* shared(SharedKind kind, std::uint32_t handle);  ///< null: there is none

    /// In the child of a fork.
    void abandon();
    /// The caller is a child, and this its parent's.
    bool abandoned() const { return abandoned_.load(std::memory_order_relaxed) || Owner::in_copy(); }
    /// The program has closed descriptors of ours: the device is dead, as events have told.
    bool lost() const { return lost_.load(std::memory_order_relaxed); }

    /// At the end of the process: what was posted is sent, what was captured written.
    void finish(Time until);

    /// While a thread of the program forks, nobody polls.
    void before_fork() { progress_->hold(); }
    void after_fork() { progress_->release(); }

private:
    explicit Port(const PortIdentity& identity) : identity_(identity) {}
    Result<void> start(const Link& link, const Settings& settings);
    Result<void> start_threads();
    void lose();
    void dispatch(const transport::Event& event);
    void await_link(const Link& link);
    void write_sysfs() const;
    Result<wire::MacAddress> ask_neighbours(const wire::Gid& to);
    std::optional<wire::MacAddress> known_hop(const link::GidEntry& from, const wire::Gid& to) const;

    struct FreePool {
        void operator()(rte_mempool* pool) const;
    };

    const PortIdentity identity_;
    std::unique_ptr<rte_mempool, FreePool> pool_;
    OpenedLink link_;
    std::mutex hub_mutex_;
    LinkGroups groups_{link_, hub_mutex_};
    LinkPorts ports_{link_, hub_mutex_};
    HubBroker broker_{link_, hub_mutex_};
    NextHops next_hops_{link_};
    std::mutex listeners_mutex_;
    struct Listening {
        const void* who;
        Listener tell;
    };
    std::unordered_multimap<std::uint64_t, Listening> listeners_;
    std::mutex shared_mutex_;
    std::map<std::pair<SharedKind, std::uint32_t>, void*> shared_;
    std::unique_ptr<rdma::Device> device_;
    std::unique_ptr<Progress> progress_;
    std::mutex gsi_mutex_;
    std::unique_ptr<mad::Gsi> gsi_;
    std::atomic<bool> active_{false};  ///< as the last event says
    std::atomic<bool> abandoned_{false}, lost_{false};
    std::string sysfs_;  ///< directory; empty: none
    QuietThread helper_, capture_writer_;
};

}  // namespace verbline::verbs

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A device in this process: a link, the RDMA device on it, and the helper thread. Opened when the program first opens
/// the device and kept until the process ends, so that a program which closes and reopens it keeps its addresses.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "apps/libibverbs/link/hub_broker.h"
#include "apps/libibverbs/link/link.h"
#include "apps/libibverbs/namespace/counter_files.h"
#include "apps/libibverbs/namespace/proposed_address.h"
#include "apps/libibverbs/port/fabric_watch.h"
#include "apps/libibverbs/port/lane_keeper.h"
#include "apps/libibverbs/port/link_groups.h"
#include "apps/libibverbs/port/link_ports.h"
#include "apps/libibverbs/port/link_subnet.h"
#include "apps/libibverbs/port/owner.h"
#include "apps/libibverbs/port/port_counters.h"
#include "apps/libibverbs/port/progress.h"
#include "apps/libibverbs/port/xrc_sharing.h"
#include "control/host/next_hops.h"
#include "control/mad/gsi.h"
#include "control/mad/performance.h"
#include "datapath/rdma/device.h"
#include "pmd/base/quiet_thread.h"

namespace verbline::verbs {

/// Objects that ibv_import_... looks up by their handle number.
enum class SharedKind : std::uint8_t { protection_domain, memory_region, device_memory };

class VerbsPort {
public:
    /// EAL must be running.
    static Result<std::unique_ptr<VerbsPort>> open(const PortIdentity& identity, const Link& link,
                                                   const Settings& settings);
    ~VerbsPort();
    VerbsPort(const VerbsPort&) = delete;
    VerbsPort& operator=(const VerbsPort&) = delete;

    const std::string& name() const { return identity_.name; }
    unsigned index() const { return identity_.index; }
    const OpenedLink& link() const { return link_; }
    rdma::Device& device() { return *device_; }
    const link::GidTable& gids() const { return device_->gids(); }
    LinkGroups& groups() { return groups_; }
    LinkPorts& ports() { return ports_; }
    LinkSubnet& subnet() { return subnet_; }
    XrcSharing& xrc() { return xrc_; }
    Progress& progress() { return *progress_; }
    /// The addresses of the link, of which GIDs are made; they may change. Any thread.
    std::vector<InterfaceAddress> addresses() const;
    /// Makes the GID table follow.
    void set_addresses(const std::vector<InterfaceAddress>& addresses);
    /// What the subnet manager has given the port; on Ethernet the default partition alone. Any thread.
    mad::PortFacts fabric() const;
    /// Makes queue pairs, general services and sysfs follow, and tells programs what has changed (IBV_EVENT_...). Must
    /// not be called from within a poll.
    void set_fabric(mad::PortFacts now);
    /// The subnet manager has lost what is registered there, or wants it anew: tells programs
    /// (IBV_EVENT_CLIENT_REREGISTER).
    void reregister() { dispatch({.kind = transport::AsyncEventKind::client_reregister}); }
    /// For a part of the program that is attached to the fabric itself, and calls the two above.
    FabricWatch& fabric_watch() { return fabric_watch_; }
    /// Sets the callback for changes of the addresses, of `fabric` and of `joined`. It runs on the thread that runs the
    /// link's upkeep and must not block; an empty function removes it.
    void on_change(std::function<void()> notify);
    bool infiniband() const { return device_->options().kind == link::GidTable::Kind::ib; }
    wire::Guid guid() const;  ///< of the node
    PortCounters counters() const {
        return port_counters(*device_, *link_.device, downs_.load(std::memory_order_relaxed));
    }
    bool active() const;  ///< whether the link is up

    /// Resolves the Ethernet address of the next hop towards `to`, from the local address at `gid_index`. Blocks, up to
    /// some seconds. EINVAL: no such GID; EHOSTUNREACH: no answer.
    Result<wire::MacAddress> resolve(unsigned gid_index, const wire::Gid& to);

    /// Like `resolve`, but does not block: nullopt if the address is not known. On the soft fabric, which needs none,
    /// zeros.
    std::optional<wire::MacAddress> next_hop(unsigned gid_index, const wire::Gid& to);
    /// Starts resolution; `next_hop` then finds the answer.
    void ask_next_hop(unsigned gid_index, const wire::Gid& to);
    /// The address was passed to `ask_next_hop`, and has neither been found nor failed.
    bool resolving_next_hop(unsigned gid_index, const wire::Gid& to);
    /// Sets the callback for possible answers to `ask_next_hop`, and for failures. It runs on a thread of ours or on
    /// the polling thread, and must neither block nor call back. There is one at a time; an empty function removes it.
    void on_next_hop(std::function<void()> notify) { next_hops_.on_answer(std::move(notify)); }

    /// General services (QP1), created by the first call. Sends are transmitted at once; `Gsi::on_ready` reports
    /// pending MADs. A thread that drains them and then sleeps must call Progress::leave first, or the next MAD waits
    /// until the helper notices that no thread polls.
    Result<mad::Gsi*> gsi();

    /// Sets the receiver of performance management's MADs, whose requests the port answers itself. An empty one removes
    /// it. Requires `gsi`.
    void on_performance_answer(mad::GmpReceiver receiver);

    /// Receives asynchronous events, on the thread that polls or that runs the link's upkeep; must not block.
    /// `identity` selects the object: the number of a queue pair, the address of a queue; null: the port itself.
    using Listener = std::function<void(const transport::AsyncEvent&)>;
    void listen(std::uint64_t identity, const void* who, Listener listener);
    void stop_listening(std::uint64_t identity, const void* who);
    static std::uint64_t identity(wire::Qpn qpn) { return static_cast<std::uint32_t>(qpn); }
    static std::uint64_t identity(const void* queue) { return reinterpret_cast<std::uint64_t>(queue); }

    void share(SharedKind kind, std::uint32_t handle, void* object);
    void unshare(SharedKind kind, std::uint32_t handle);
    void* shared(SharedKind kind, std::uint32_t handle);  ///< null: not found

    /// In the child after fork.
    void abandon();
    /// True in a child: the port is its parent's.
    bool abandoned() const { return abandoned_.load(std::memory_order_relaxed) || Owner::in_copy(); }
    /// False while the hub or node of the port's lane is gone. The port is joined to it again once it has been
    /// restarted.
    bool joined() const { return joined_.load(std::memory_order_relaxed); }
    /// True after the program has closed descriptors of ours: the device is dead, and a device_fatal event was emitted.
    bool lost() const { return lost_.load(std::memory_order_relaxed); }

    /// At process exit: transmits what was posted, until `until` at most, and writes what was captured.
    void finish(Time until);

    /// Around a fork by a thread of the program: keeps every thread from polling.
    void before_fork() { progress_->hold(); }
    void after_fork() { progress_->release(); }

private:
    explicit VerbsPort(const PortIdentity& identity) : identity_(identity) {}
    Result<void> start(const Link& link, const Settings& settings);
    Result<void> start_threads();
    void follow_hub();
    void set_joined(bool joined);
    void tell_of_change();
    void follow_node(const hub::SubnetPort& now);
    void follow_lid(wire::Lid lid);
    void follow_pkeys(const std::vector<wire::PKey>& pkeys);
    void lose();
    void receive_performance(std::span<const mad::GmpArrival> burst, const mad::GmpReceiver& answers);
    void dispatch(const transport::AsyncEvent& event);
    void await_link(const Link& link);
    void write_sysfs();
    void refresh_counters();
    Result<wire::MacAddress> ask_neighbours(const wire::Gid& to);
    Result<wire::MacAddress> ask_node(const wire::Gid& from, const wire::Gid& to, Time timeout);
    Result<wire::MacAddress> query_next_hop(const wire::Gid& from, const wire::Gid& to, Time timeout);
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
    LinkSubnet subnet_{link_, hub_mutex_, [this](const hub::SubnetPort& now) { follow_node(now); }};
    FabricWatch fabric_watch_{[this](const mad::PortFacts& now) { set_fabric(now); }, [this] { reregister(); }};
    HubBroker broker_{link_, hub_mutex_};
    host::NextHops next_hops_;
    mutable std::mutex addresses_mutex_;
    std::vector<InterfaceAddress> addresses_;
    std::function<void()> on_change_;
    mutable std::mutex fabric_mutex_;
    mad::PortFacts fabric_;
    std::uint32_t reregistrations_ = 0;  ///< as the node has said last
    std::mutex listeners_mutex_;
    struct Listening {
        const void* who;
        Listener notify;
    };
    std::unordered_multimap<std::uint64_t, Listening> listeners_;
    std::mutex shared_mutex_;
    std::map<std::pair<SharedKind, std::uint32_t>, void*> shared_;
    std::unique_ptr<rdma::Device> device_;
    XrcSharing xrc_{link_, hub_mutex_, [this](const transport::AsyncEvent& event) { dispatch(event); }};
    LaneKeeper lane_keeper_{link_, groups_, ports_, subnet_, xrc_, broker_, hub_mutex_};
    std::unique_ptr<Progress> progress_;
    std::mutex gsi_mutex_;
    mad::PerformanceAgent performance_;  ///< called by who drains QP1
    std::unique_ptr<mad::Gsi> gsi_;
    std::atomic<bool> active_{false};  ///< as of the last port event
    std::atomic<bool> abandoned_{false}, lost_{false}, joined_{true};
    std::atomic<std::uint64_t> downs_{0};  ///< times that the link went down
    std::string sysfs_;                    ///< directory; empty: none
    std::mutex sysfs_mutex_;               ///< one writer at a time
    std::optional<CounterFiles> counter_files_;
    QuietThread helper_, capture_writer_;
};

}  // namespace verbline::verbs

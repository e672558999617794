// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One end's port: packet buffers, network device, addresses, RDMA device. A port of its own, a member of a node, or a
/// port of a soft fabric. One thread uses it at a time: the one that opens it, then the one that polls it.

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "apps/libibverbs/link/hub_broker.h"
#include "apps/libibverbs/link/link.h"
#include "apps/libibverbs/settings/settings.h"
#include "apps/verbline/bench/rdma/idle_wait.h"
#include "control/host/udp_guard.h"
#include "datapath/link/gid_table.h"
#include "datapath/link/interface_address.h"
#include "datapath/rdma/device.h"
#include "datapath/wire/path_record.h"

struct rte_mempool;

namespace verbline::rdma_bench {

struct PortOptions {
    std::string name;  ///< of DPDK's objects, unique in the process
    verbs::Link link;
    std::vector<link::InterfaceAddress> addresses;  ///< none: the kernel's of an interface, else a link-local one alone
    std::uint32_t mtu = 4096;                       ///< of the path, at most
    std::uint32_t queue_pairs = 1;
    link::GidType roce = link::GidType::roce_v2;
    std::string impair;  ///< pmd/impair/spec.h; empty: none
};

/// The host at the far end of a path, as messages name it.
std::string text(const rdma::Path& path);

/// A path, and the payload of the largest packet that it carries, in bytes.
struct PortPath {
    rdma::Path path;
    std::uint32_t mtu = 0;
};

class Port {
public:
    /// Opens the device and brings it up. EINVAL: the link cannot be used for this.
    static Result<std::unique_ptr<Port>> open(const PortOptions& options);

    rdma::Device& rdma() { return *rdma_; }
    const std::string& text() const { return link_.text; }
    /// What a client is to name: the first address that is not link-local, if there is one.
    wire::Gid address() const;
    /// Reached without asking a neighbour: fe80::/64 and its MAC address; of a soft fabric the port's GID.
    wire::Gid own_gid() const { return infiniband() ? link_.fabric.gid() : link::link_local_gid(link_.mac); }
    bool infiniband() const { return link_.infiniband(); }
    /// Of a path, at most.
    std::uint32_t max_mtu() const;

    /// Of a node, of which the port is a member.
    const std::optional<link::MemberId>& member() const { return link_.lane.member; }
    /// What the ends talk in, and the whole table.
    wire::PKey pkey() const { return pkeys().front(); }
    std::vector<wire::PKey> pkeys() const;
    /// Has a node pass on requests for this port number of the connection manager's port space, until the port is
    /// closed. EADDRINUSE: another member has it.
    Result<void> reserve(std::uint16_t space, std::uint16_t number);

    /// One round of the datapath, and now and then of the link's upkeep. May block for a millisecond where nothing
    /// comes and others compute on the CPU (idle_wait.h).
    void poll(Time now) noexcept {
        if (link_.held_back) std::ignore = link_.device->tx_burst(0, {});  // what is held back and due
        idle_->polled(
            rdma_->poll(0, now), now, [this, now] { return rdma_->poll(0, now); },
            [this] { return rdma_->next_deadline(0); });
        if (now >= next_upkeep_) upkeep(now);
    }
    /// As of the last upkeep, a millisecond ago at most.
    bool link_up() const { return link_up_; }

    /// Path to a host, from our address on its network, in the version of RoCE of the options; the host answers in
    /// that. Polls meanwhile; a few seconds at most. EHOSTUNREACH: it does not answer, or is on none of our networks,
    /// or the subnet administrator knows no path. ECANCELED: `stop` is set.
    Result<PortPath> path_to(const wire::Gid& peer, const std::atomic<bool>& stop);

    /// Memory of the packet buffers of a port, in MB.
    static std::size_t buffer_memory_mb();

private:
    struct FreePool {
        void operator()(rte_mempool* pool) const;
    };

    Result<void> open_rdma(const PortOptions& options);
    void upkeep(Time now) noexcept;
    Result<PortPath> roce_path_to(const wire::Gid& peer, const std::atomic<bool>& stop);
    Result<PortPath> subnet_path_to(const wire::Gid& peer, const std::atomic<bool>& stop);
    Result<wire::PathRecord> ask_subnet_manager(const wire::Gid& to, const std::atomic<bool>& stop) const;
    Result<wire::PathRecord> ask_node_for_path(const wire::Gid& to, const std::atomic<bool>& stop);
    Result<wire::MacAddress> next_hop(const wire::Gid& from, const wire::Gid& to, const std::atomic<bool>& stop);
    Result<wire::MacAddress> ask_node(const wire::Gid& from, const wire::Gid& to, const std::atomic<bool>& stop);
    template <class Find>
    auto poll_until(Time until, const std::atomic<bool>& stop, Find find) -> decltype(find(Time{}));

    std::unique_ptr<rte_mempool, FreePool> pool_;
    std::mutex hub_mutex_;  ///< the broker's; one thread at a time uses the port, so nobody waits
    verbs::HubBroker broker_{link_, hub_mutex_};
    verbs::OpenedLink link_;  ///< destroyed before the broker, whom its direct links tell of their end
    link::GidType roce_ = link::GidType::roce_v2;
    bool link_up_ = false;
    std::unique_ptr<IdleWait> idle_;
    Time next_upkeep_ = 0;
    std::unique_ptr<rdma::Device> rdma_;
};

}  // namespace verbline::rdma_bench

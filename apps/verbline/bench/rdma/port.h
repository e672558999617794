// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One end's port: packet buffers, network device, addresses, RDMA device. One thread uses it at a time: the one that
/// opens it, then the one that polls it.

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "apps/verbline/bench/rdma/idle_wait.h"
#include "control/host/udp_guard.h"
#include "datapath/link/gid_table.h"
#include "datapath/link/interface_address.h"
#include "datapath/neighbour/device.h"
#include "datapath/rdma/device.h"
#include "pmd/factory/device_spec.h"
#include "pmd/impair/spec.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::rdma_bench {

struct PortOptions {
    std::string name;  ///< of DPDK's objects, unique in the process
    std::string text;  ///< the link as typed
    pmd::DeviceSpec device;
    std::vector<link::InterfaceAddress> addresses;  ///< none: the kernel's of an interface, else a link-local one alone
    std::uint32_t mtu = 4096;                       ///< of the path, at most
    std::uint32_t queue_pairs = 1;
    link::GidType roce = link::GidType::roce_v2;
    std::optional<pmd::ImpairSpec> impair;
};

class Port {
public:
    /// Opens the device and brings it up. EINVAL: the link cannot be used for this.
    static Result<std::unique_ptr<Port>> open(const PortOptions& options);

    rdma::Device& rdma() { return *rdma_; }
    const std::string& text() const { return text_; }
    /// What a client is to name: the first address that is not link-local, if there is one.
    wire::Gid address() const;
    /// fe80::/64 and its MAC address: reached without asking anybody.
    wire::Gid link_local() const { return link::link_local_gid(mac_); }

    /// One round of the datapath, and now and then of the link's upkeep. May block for a millisecond where nothing
    /// comes and others compute on the CPU (idle_wait.h).
    void poll(Time now) noexcept {
        if (impaired_) std::ignore = device_->tx_burst(0, {});  // what is held back and due
        idle_->polled(
            rdma_->poll(0, now), now, [this, now] { return rdma_->poll(0, now); },
            [this] { return rdma_->next_deadline(0); });
        if (now >= next_upkeep_) upkeep(now);
    }
    /// As of the last upkeep, a millisecond ago at most.
    bool link_up() const { return link_up_; }

    /// Path to a host, from our address on its network, in the version of RoCE of the options; the host answers in
    /// that. Polls meanwhile; a few seconds at most. EHOSTUNREACH: it does not answer, or is on none of our networks.
    Result<rdma::Path> path_to(const wire::Gid& peer);

    /// Memory of the packet buffers of a port, in MB.
    static std::size_t buffer_memory_mb();

private:
    struct FreePool {
        void operator()(rte_mempool* pool) const;
    };

    Result<void> open_device(const PortOptions& options);
    Result<void> open_rdma(const PortOptions& options);
    void upkeep(Time now) noexcept;
    Result<wire::MacAddress> next_hop(const wire::Gid& from, const wire::Gid& to);

    std::string text_;
    std::unique_ptr<rte_mempool, FreePool> pool_;
    std::optional<host::UdpGuard> guard_;
    std::unique_ptr<pmd::NetDevice> device_;
    neighbour::NeighbourDevice* neighbours_ = nullptr;  ///< in `device_`; null: the kernel resolves
    unsigned ifindex_ = 0;                              ///< of the kernel's interface
    wire::MacAddress mac_{};
    std::vector<link::InterfaceAddress> addresses_;
    link::GidType roce_ = link::GidType::roce_v2;
    bool impaired_ = false, link_up_ = false;
    std::unique_ptr<IdleWait> idle_;
    Time next_upkeep_ = 0;
    std::unique_ptr<rdma::Device> rdma_;
};

}  // namespace verbline::rdma_bench

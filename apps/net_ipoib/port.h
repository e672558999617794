// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port as its program sees it, without what is DPDK's (ethdev_ops.cc).
///
///     open ──> the control thread runs, the subnet manager is known
///     start ──> device, queues, Control: joins the broadcast group, then the link is up
///     stop ──> groups are left, queues and device go
///
/// Called by one thread at a time, as DPDK demands; queues by theirs.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/net_ipoib/arguments.h"
#include "apps/net_ipoib/carrier.h"
#include "apps/net_ipoib/control.h"
#include "apps/net_ipoib/control_thread.h"
#include "control/mad/transport.h"
#include "datapath/link/flow_hash.h"

namespace verbline::net_ipoib {

/// Of the table by which packets are spread over receive queues; as NICs have.
constexpr std::uint16_t redirection_entries = 128;

class Port {
public:
    /// `log`: called with one line when the state of the port's link changes, by the control thread.
    using Log = std::function<void(const std::string&)>;
    /// Reaches the subnet manager's fabric, where there is one. `name`: DPDK's, unique.
    static Result<std::unique_ptr<Port>> open(const Arguments& arguments, const std::string& name, Log log);
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;
    ~Port();

    struct Setup {
        std::uint16_t number = 0;           ///< DPDK's of the port
        std::vector<rte_mempool*> receive;  ///< the program's pool of each receive queue
        std::uint16_t transmit = 1;         ///< queues
        bool checksums = false, chains = false;
        bool spread = true;                           ///< packets over the receive queues; else all come by the first
        std::optional<link::FrameFlowHash::Key> key;  ///< by which; none: a random one
        std::uint32_t mtu = 1500;
        std::function<void()> link_changed;  ///< by the control thread
    };
    Result<void> start(const Setup& setup);
    void stop();

    ReceiveEnd* receiver(std::size_t queue) { return queues_.receive[queue].end.get(); }
    TransmitEnd* transmitter(std::size_t queue) { return queues_.transmit[queue].end.get(); }

    const Arguments& arguments() const { return arguments_; }
    /// None is above it.
    std::uint32_t max_mtu() const { return max_mtu_; }
    wire::MacAddress mac() const { return mac_; }
    bool link_up() const { return link_up_.load(std::memory_order_relaxed); }

    void set_mac(wire::MacAddress mac);
    void set_mtu(std::uint32_t mtu);
    void set_groups(std::vector<wire::MacAddress> groups);
    void receive_all_groups(bool all);
    /// How packets are spread over receive queues; none: as the device does, or the port is stopped.
    std::optional<pmd::RssTable> spread() const;
    /// As many entries as `spread` shows; kept over restarts with as many queues. ENOTSUP: it shows nothing.
    Result<void> redirect(std::vector<std::uint16_t> redirection);

    /// Of the queues; `all`: also of the device and the control thread, which is waited for. None while stopped.
    void counters(const CounterVisitor& visit, bool all) const;

private:
    Port(const Arguments& arguments, std::string name, Log log)
        : arguments_(arguments), name_(std::move(name)), log_(std::move(log)) {}

    Result<void> start_thread();
    Result<void> reach_subnet();
    Result<void> make_pool(std::size_t queues);
    Result<void> open_device(const Setup& setup);
    Result<void> make_queues(const Setup& setup);
    Result<void> start_control(const Setup& setup);
    void connect_null(const Setup& setup);
    std::uint32_t frame_bytes() const;
    std::vector<std::uint16_t> redirection(const Setup& setup) const;
    void count_queues(const CounterVisitor& visit) const;

    struct FreePool {
        void operator()(rte_mempool* pool) const;
    };

    const Arguments arguments_;
    const std::string name_;
    const Log log_;
    std::uint32_t max_mtu_ = default_mtu;
    wire::MacAddress mac_{};
    std::vector<wire::MacAddress> groups_;
    bool all_groups_ = false;
    std::atomic<bool> link_up_{false};
    std::unique_ptr<ControlThread> thread_;
    std::unique_ptr<mad::Transport> transport_;  ///< null: the carrier has no wire, or the link no subnet manager
    std::unique_ptr<sa::Agent> agent_;
    EventDescriptor wake_;
    std::unique_ptr<rte_mempool, FreePool> pool_;
    bool zero_copy_ = false;  ///< the device receives into the program's buffers
    std::unique_ptr<link::FrameFlowHash> flows_;
    std::vector<std::uint16_t> redirection_;  ///< as the program has set it; empty: it has not
    Carrier carrier_;
    Queues queues_;
    std::unique_ptr<Control> control_;
};

}  // namespace verbline::net_ipoib

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Two devices as one, of which one is used: what Linux's bonding calls active-backup. Who uses the device decides
/// which (control/gateway/failover.h).
///
///     tx_burst, rx_burst, filters ──> the active one
///                                     the other: up, its link watched, what it receives discarded
///
/// Threads: as for any NetDevice. `select` by the control thread, while bursts are running: the sender uses the other
/// device from its next burst on, the receiver after discarding what had come there before, which the first device has
/// received as well.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pmd/base/counter.h"
#include "pmd/netdev.h"

namespace verbline::pmd {

#define VERBLINE_ACTIVE_BACKUP_COUNTERS(X)                                                  \
    X(rx_discarded_backup, "packets that came by the device that is not used, of no error") \
    X(failovers, "times that the other device was taken")

struct ActiveBackupCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_ACTIVE_BACKUP_COUNTERS)
};

class ActiveBackup final : public NetDevice {
public:
    using Members = std::array<std::unique_ptr<NetDevice>, 2>;

    /// The first is active. Offers what both can do. EINVAL: they differ in what their packets begin with, or in the
    /// number of queues.
    static Result<std::unique_ptr<ActiveBackup>> create(std::string name, Members members);

    unsigned active() const { return active_.load(std::memory_order_relaxed); }
    /// Filters are to be set anew: the other device may have others.
    void select(unsigned member);
    /// Of a member, as `link_up` found it last.
    bool member_link(unsigned member) const { return links_[member]; }

    std::string_view name() const override { return name_; }
    const Capabilities& capabilities() const override { return capabilities_; }
    std::optional<wire::MacAddress> mac() const override { return used().mac(); }
    int numa_socket() const override { return members_[0]->numa_socket(); }
    std::optional<RssTable> rss() const override { return used().rss(); }
    bool segments() const noexcept override { return used().segments(); }

    Result<void> up() override;
    void down() override;
    /// Of the active one; looks at both.
    bool link_up() override;
    bool wants_link_up() const noexcept override {
        return members_[0]->wants_link_up() || members_[1]->wants_link_up();
    }

    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    bool rx_consumed(std::uint16_t queue) const noexcept override { return used().rx_consumed(queue); }
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override { return used().tx_burst(queue, burst); }
    int rx_event(std::uint16_t queue) const noexcept override { return used().rx_event(queue); }
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override;

    std::error_code set_identity(const Identity& identity) override { return used().set_identity(identity); }
    std::error_code attach_multicast(const MulticastAddress& group) override { return used().attach_multicast(group); }
    std::error_code detach_multicast(const MulticastAddress& group) override { return used().detach_multicast(group); }
    std::error_code receive_all_multicast(bool all) override { return used().receive_all_multicast(all); }

    /// Of both together, and its own.
    void counters(const CounterVisitor& visit) const override;

private:
    /// The receiving thread's.
    struct alignas(64) Queue {
        unsigned reads = 0;  ///< the member that was read last
        unsigned polls = 0;
        unsigned armed = 0;
    };

    ActiveBackup(std::string name, Members members, const Capabilities& capabilities);
    NetDevice& used() const { return *members_[active()]; }
    void discard(NetDevice& member, std::uint16_t queue) noexcept;

    const std::string name_;
    const Members members_;
    const Capabilities capabilities_;
    std::atomic<unsigned> active_{0};
    std::array<bool, 2> links_{};
    std::vector<Queue> queues_;
    ActiveBackupCounters counters_;
};

}  // namespace verbline::pmd

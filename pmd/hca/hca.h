// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port of an RDMA adapter as a device that carries datagrams: UD queue pairs of the system's libibverbs.
///
///     send(queue) ── work requests ──> queue pair 0 … n: TSS        control thread: up, down, identity, groups,
///     rx_burst(0) <── buffers ──────── queue pair 0                 link_up: events, recovery, reopening
///     rx_burst(queue) <── buffers ──── work queue 0 … n: RSS, where the adapter has it for UD queue pairs
///
/// Without RSS there is one receive queue: what is sent to a queue pair's number comes to that queue pair. Its peers
/// know the first one's.
///
/// A failure ends in `link_up`: queue pairs that failed are set up anew there; a device that failed or was removed is
/// closed, and opened again when it is back, with its identity and groups. Until then what is sent is dropped, and
/// counted.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pmd/base/gate.h"
#include "pmd/base/time.h"
#include "pmd/hca/adapter.h"
#include "pmd/hca/counters.h"
#include "pmd/netdev.h"
#include "pmd/packet_pools.h"

namespace verbline::pmd {

struct HcaOptions {
    std::string device;  ///< e.g. mlx5_0
    std::uint8_t port = 1;
    std::string library;                          ///< path of libibverbs.so.1; empty: the system's
    std::uint16_t queues = 1;                     ///< transmit queues
    std::optional<std::uint16_t> receive_queues;  ///< at most so many and `queues`, if the device can; none: `queues`
    /// The kernel's IPoIB interface of the port, such as ib0, beside which it works: it has that one's number, and
    /// receives what `take` names. Empty: it has a number of its own.
    std::string beside;
    std::string sys = "/sys";             ///< where interfaces are described
    std::optional<LinkLayer> link_layer;  ///< that the port must have
    std::optional<wire::PKey> pkey;       ///< whose partition it must be in, if it is up
    Time (*clock)() = nullptr;            ///< null: the monotonic one
};

class Hca final : public NetDevice {
public:
    /// Opens the device, which must be there, with its port not down. Received packets are from `pools`, which outlive
    /// the device; what is sent should be, or is copied.
    static Result<std::unique_ptr<Hca>> create(const HcaOptions& options, const PacketPools& pools);
    ~Hca() override;

    std::string_view name() const override { return name_; }
    const Capabilities& capabilities() const override { return capabilities_; }
    int numa_socket() const override { return numa_socket_; }
    std::optional<DatagramEnd> datagram_end() const override { return end_; }
    /// Of the packets in the datagrams.
    std::optional<RssTable> rss() const override { return spread_; }
    bool segments() const noexcept override { return segments_.load(std::memory_order_relaxed); }

    Result<void> up() override;
    void down() override;
    bool link_up() override;

    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    /// Frames cannot be sent, as a datagram has an address; with an empty burst it frees what was sent.
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    std::uint16_t send(std::uint16_t queue, std::span<const Datagram> burst) noexcept override;
    int rx_event(std::uint16_t queue) const noexcept override;
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override;

    /// With `beside`: receives these packets, instead of the kernel, and none of those that it took before. Error, and
    /// some are not taken: the device refuses one. Control thread.
    Result<void> take(std::vector<hca::FlowMatch> matches);

    std::error_code set_identity(const Identity& identity) override;
    std::error_code attach_multicast(const MulticastAddress& group) override;
    std::error_code detach_multicast(const MulticastAddress& group) override;

    void counters(const CounterVisitor& visit) const override;
    void queue_counters(std::uint16_t queue, const CounterVisitor& visit) const override;

private:
    Hca(const HcaOptions& options, const hca::Verbs& verbs, const PacketPools& pools);
    Result<void> check(const hca::Adapter& adapter) const;
    void describe(const hca::Adapter& adapter);

    Result<std::unique_ptr<hca::Adapter>> open();
    bool reopen();
    void lose();
    Result<void> restart();
    void close_gate();
    void learn();
    void count(const hca::Events& events);
    hca::Adapter* adapter() { return adapter_ ? adapter_.get() : running_; }

    const HcaOptions options_;
    const std::string name_;
    const hca::Verbs& verbs_;
    const PacketPools pools_;
    Capabilities capabilities_;
    int numa_socket_ = any_numa_socket;
    const std::vector<std::uint8_t> hash_key_;
    std::vector<std::unique_ptr<hca::QueueCounters>> queue_counters_;
    hca::HcaCounters counters_;

    // Control thread.
    bool is_up_ = false;
    std::optional<Identity> identity_;
    std::vector<MulticastAddress> groups_;
    std::vector<hca::FlowMatch> taken_;
    std::optional<DatagramEnd> end_;
    std::optional<RssTable> spread_;
    Time next_attempt_ = 0;  ///< to open the device again

    /// Whose packets flow; else it is in `adapter_`, or there is none.
    Gate<hca::Adapter> gate_;
    hca::Adapter* running_ = nullptr;  ///< in the gate
    std::unique_ptr<hca::Adapter> adapter_;
    std::atomic<bool> segments_{true};      ///< until the device has failed at it
    std::vector<std::atomic<int>> events_;  ///< of the receive queues
};

}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// QP1 of one of our own devices, and the MADs that pass through it (IBTA volume 1, 3.9.3 and 13.5).
///
///     send ──> QP1 ──> `on_posted`: the owner drives the device          any thread
///     device's shard ──> completion ──> `on_ready`, once ─ ─ ─┐
///     receivers, by management class <── drain <──────────────┘          one thread at a time
///
/// `drain` processes all pending MADs and re-arms `on_ready`. Several services of a process may share a Gsi, each with
/// classes of its own; the first of those present in the order of `Drainer` is told of MADs and drains for all. MADs
/// are 256 bytes, base version 1; others are counted and dropped, as is what cannot be sent now: retransmission is the
/// caller's.

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "control/mad/gmp.h"
#include "control/mad/transport.h"
#include "datapath/rdma/datagrams.h"
#include "datapath/rdma/device.h"

namespace verbline::mad {

#define VERBLINE_GSI_COUNTERS(X)                                                                    \
    X(tx_dropped_no_next_hop, "MADs not sent because the next hop's Ethernet address is not known") \
    X(rx_dropped_not_ours, "MADs received for an address that is not ours, or that name none")      \
    X(rx_dropped_bad_pkey, "MADs received of a partition that this port is not in")                 \
    X(rx_errors, "receive completions with an error")
struct GsiCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_GSI_COUNTERS)
};

struct GsiOptions {
    rdma::Device* device = nullptr;  ///< outlives the Gsi
    std::uint16_t slots = 256;       ///< queue depth in each direction
    /// The port's P_Key table: MADs of other partitions are dropped (IBTA 9.6.1.1.3).
    std::vector<wire::PKey> pkeys{wire::PKey{0xffff}};
    /// RoCE, for peers without a MAC address: next hop from our GID `gid_index`. Must not block; if the address is
    /// unknown it starts the resolution and returns none, and the MAD is dropped. Empty: all such MADs are dropped.
    std::function<std::optional<wire::MacAddress>(unsigned gid_index, const wire::Gid& to)> next_hop{};
    /// A MAD was posted: drive the device. Called on the thread that called `send`.
    std::function<void()> on_posted{};
};

class Gsi final : public GmpChannel {
public:
    /// Who drains. Receivers of connections rely on locks that their own drain holds, so they come first.
    enum class Drainer : std::uint8_t { connections, management };
    static constexpr std::size_t drainers = 2;

    /// Default queue depth in each direction.
    static constexpr std::uint16_t slots = 256;
    /// Maximum number of MADs that one `drain` processes.
    static constexpr std::size_t most_at_once = 256;

    using Receiver = GmpReceiver;

    /// EBUSY: QP1 of the device exists already.
    static Result<std::unique_ptr<Gsi>> create(GsiOptions options);
    /// No thread may be in `send` or `drain`.
    ~Gsi() override;

    void send(const GmpPeer& to, MadBytes mad) noexcept override;

    /// Sets the receiver of a management class; an empty one removes it. Any thread, in a receiver too; not called
    /// afterwards, once this has returned on another thread than that which drains.
    void receive(wire::MadClass management_class, Receiver receiver);
    /// Passes pending MADs to receivers; returns how many. Receivers may send. Nothing is done for one who is not the
    /// first in the order.
    std::size_t drain(Drainer who = Drainer::connections);
    /// Sets the callback for pending MADs: called once until the next `drain`, and at once if MADs are pending already.
    /// It runs on the thread that polls the device and must not block or call back; typically it writes to an eventfd.
    /// Any thread.
    void on_ready(std::function<void()> on_ready, Drainer who = Drainer::connections);

    /// The port's P_Key table is another now. Any thread.
    void set_pkeys(std::vector<wire::PKey> pkeys);

    void counters(const CounterVisitor& visit) const;

private:
    explicit Gsi(GsiOptions options) : options_(std::move(options)) {}
    void notify();
    std::function<void()>* first_drainer();
    void take(const transport::Completion& completion, rdma::Datagrams::Route route, std::span<const std::byte> mad);
    void hand_over();
    bool find_next_hop(rdma::Path& path) const;

    bool in_partition(wire::PKey pkey) const;

    GsiOptions options_;  ///< constant, but for `pkeys`
    mutable std::mutex pkeys_mutex_;
    TransportCounters transport_counters_;  ///< tx: by `send`, under its mutex; rx: by `drain`
    GsiCounters counters_;                  ///< written as `transport_counters_`
    std::mutex send_mutex_;                 ///< serializes senders

    std::mutex ready_mutex_;                                ///< guards `on_ready_` and `notified_`
    std::array<std::function<void()>, drainers> on_ready_;  ///< by Drainer
    bool notified_ = false;                                 ///< `on_ready_` was called since the last `drain`

    std::recursive_mutex drain_mutex_;  ///< of the rest; held by `drain`. Recursive for receivers
    std::map<wire::MadClass, std::shared_ptr<Receiver>> receivers_;  // shared: a receiver may remove itself
    std::vector<GmpArrival> burst_;                                  ///< taken, not yet passed to a receiver
    wire::MadClass burst_class_{};
    std::unique_ptr<rdma::Datagrams> datagrams_;  // last: destroyed first
};

}  // namespace verbline::mad

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// General services of one of our own devices: its QP1, and the MADs that go through it (IBTA volume 1, 3.9.3
/// and 13.5).
///
///     send ──> QP1 ──> `on_posted`: the owner drives the device          any thread
///     device's shard ──> completion ──> `on_ready`, once ─ ─ ─┐
///     receivers, by management class <── drain <──────────────┘          one thread at a time
///
/// `drain` takes all there is, and arms `on_ready` again. MADs are 256 bytes, base version 1; all else is counted and
/// dropped, as is what cannot be sent now: whoever needs an answer asks again.

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
    X(rx_errors, "receive buffers that came back without a MAD")
struct GsiCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_GSI_COUNTERS)
};

struct GsiOptions {
    rdma::Device* device = nullptr;  ///< outlives the Gsi
    std::uint16_t slots = 256;       ///< in each direction: MADs waiting to leave, or for `drain`
    /// The port's P_Key table: MADs of other partitions are dropped (IBTA 9.6.1.1.3).
    std::vector<wire::PKey> pkeys{wire::PKey{0xffff}};
    /// RoCE, for peers that are named without a MAC address: from our address `gid_index`. Must not block; where the
    /// answer is not known it is asked for, and the MAD is lost. Without this, so are all such.
    std::function<std::optional<wire::MacAddress>(unsigned gid_index, const wire::Gid& to)> next_hop{};
    /// Something was posted; on the thread that called `send`.
    std::function<void()> on_posted{};
};

class Gsi final : public GmpChannel {
public:
    /// In each direction, unless the options say otherwise.
    static constexpr std::uint16_t slots = 256;
    /// MADs that one `drain` takes before others have their turn.
    static constexpr std::size_t most_at_once = 256;

    using Receiver = GmpReceiver;

    /// EBUSY: the device has its QP1 already.
    static Result<std::unique_ptr<Gsi>> create(GsiOptions options);
    /// Nobody is in `send` or `drain` any more.
    ~Gsi() override;

    void send(const GmpPeer& to, MadBytes mad) noexcept override;

    /// Who gets the MADs of a management class; an empty receiver ends it. By the thread that drains.
    void receive(wire::MadClass management_class, Receiver receiver);
    /// Calls receivers with what has arrived; returns how many MADs that were. Receivers may send.
    std::size_t drain();
    /// Called when there is something to drain, once until the next `drain`; at once if there is already. It is called
    /// by whoever polls the device, and must not block nor call back: it writes to an eventfd, say. Any thread.
    void on_ready(std::function<void()> tell);

    void counters(const CounterVisitor& visit) const;

private:
    explicit Gsi(GsiOptions options) : options_(std::move(options)) {}
    void tell();
    void take(const transport::Completion& completion, rdma::Datagrams::Route route, std::span<const std::byte> mad);
    void hand_over();
    std::optional<GmpPeer> peer_of(const transport::Completion& completion, rdma::Datagrams::Route route) const;
    bool find_next_hop(rdma::Path& path) const;

    const GsiOptions options_;
    TransportCounters transport_counters_;  ///< tx: by `send`, under its mutex; rx: by `drain`
    GsiCounters counters_;                  ///< the same
    std::mutex send_mutex_;                 ///< of sending

    std::mutex tell_mutex_;  ///< of what follows
    std::function<void()> tell_;
    bool told_ = false;  ///< since the last drain

    std::map<wire::MadClass, std::shared_ptr<Receiver>> receivers_;  // shared: a receiver may take itself back
    std::vector<GmpArrival> burst_;                                  ///< taken and not handed over yet
    wire::MadClass burst_class_{};
    std::unique_ptr<rdma::Datagrams> datagrams_;  // goes first
};

}  // namespace verbline::mad

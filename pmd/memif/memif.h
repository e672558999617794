// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A link to another process over shared memory by the memif protocol; the peer may be Verbline, DPDK or VPP.
///
/// DPDK's own memif driver is not used because it does not survive the loss of its peer: it unmaps the rings on its
/// interrupt thread while a poll thread may be copying (a peer killed under load crashes this process), trusts the
/// peer's values in shared memory, does not reconnect, and fails on a stale socket file. Here the control thread does
/// all of that, in `link_up`, and removes the rings only between bursts.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pmd/base/gate.h"
#include "pmd/base/time.h"
#include "pmd/memif/handshake.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::pmd {

using memif::MemifOptions;

#define VERBLINE_MEMIF_COUNTERS(X)                                                                  \
    X(rx_good_packets, "frames from the peer")                                                      \
    X(rx_good_bytes, "their bytes")                                                                 \
    X(rx_mbuf_allocation_errors, "frames dropped, or receives put off, because the pool was empty") \
    X(rx_dropped_malformed, "frames without a byte in them")                                        \
    X(tx_good_packets, "frames given to the peer")                                                  \
    X(tx_good_bytes, "their bytes")                                                                 \
    X(tx_dropped_oversize, "frames that take more slots than one frame may")                        \
    X(tx_dropped_link_down, "frames while no peer was there")

struct MemifCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_MEMIF_COUNTERS)
};

#define VERBLINE_MEMIF_LINK_COUNTERS(X)                                                          \
    X(link_connects, "connections made")                                                         \
    X(link_losses, "connections whose peer closed")                                              \
    X(link_refusals, "handshakes ended because a message or what it offered was not acceptable") \
    X(link_violations, "connections ended because the peer wrote nonsense into shared memory")

struct MemifLinkCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_MEMIF_LINK_COUNTERS)
};

class Memif : public NetDevice {
public:
    /// It is no error if a client's server is not running yet: `link_up` keeps trying.
    static Result<std::unique_ptr<Memif>> create(const MemifOptions& options, rte_mempool* pool);
    /// A single connection with a trusted peer over `peer`, a connected socket (SOCK_SEQPACKET, non-blocking), as
    /// server or client according to `options`. Once `link_up` has changed from true to false it stays false.
    static Result<std::unique_ptr<Memif>> create(const MemifOptions& options, rte_mempool* pool, FileDescriptor peer);
    ~Memif() override;
    /// In the child of a fork, the only call allowed: closes the child's copy of the socket without a disconnect
    /// message. Left open, it would hide the parent's exit from the peer.
    void abandon() { endpoint_->abandon(); }
    /// A client: connects to this path from the next connection on; empty: to none. By the thread that calls `link_up`.
    void move_to(const std::string& path) { endpoint_->move_to(path); }

    std::string_view name() const override { return name_; }
    const Capabilities& capabilities() const override { return capabilities_; }
    Result<void> up() override;
    void down() override;
    /// Also establishes, monitors and re-establishes the connection; no other call does. After the peer disconnects,
    /// frames that it had sent can still be received for a while; the link is down meanwhile.
    bool link_up() override;
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    /// The connection's eventfd. It also becomes readable when a connection is established or lost: then call
    /// `rx_event` and `want_rx_event` again.
    int rx_event(std::uint16_t queue) const noexcept override;
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override;
    void counters(const CounterVisitor& visit) const override;

private:
    struct alignas(64) Lane {
        MemifCounters counters;
    };

    Memif(const MemifOptions& options, std::unique_ptr<memif::Handshake> endpoint);
    bool keep_connection();
    void disconnect(std::string_view reason);

    std::string name_;
    Capabilities capabilities_;
    bool is_up_ = false;
    std::unique_ptr<memif::Handshake> endpoint_;
    Gate<memif::SharedRings> gate_;  ///< its users: receivers by queue, then transmitters by queue
    std::vector<Lane> lanes_;        ///< as the gate's users
    MemifLinkCounters link_;
    std::optional<Time> hung_up_;               ///< when the peer's disconnect was noticed
    std::vector<FileDescriptor> last_signals_;  ///< of the previous connection, kept open so that their numbers are not
                                                ///< reused while a receiver may poll them
};

}  // namespace verbline::pmd

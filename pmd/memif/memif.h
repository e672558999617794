// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A link to another process over shared memory, in the memif protocol; the other side may be DPDK's or VPP's.
///
/// DPDK has a memif driver of its own, and it would be used here if it could lose its peer: it unmaps the rings on its
/// interrupt thread while a poll thread may be copying (a peer killed under load takes this process along), believes
/// whatever the peer writes into shared memory, does not connect again, and stops at a socket file left behind. Here
/// the control thread does all of it, in `link_up`, and takes the rings away only between bursts.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pmd/base/gate.h"
#include "pmd/base/time.h"
#include "pmd/memif/connection.h"
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
    /// A client whose server is not there yet is no error: `link_up` goes on trying.
    static Result<std::unique_ptr<Memif>> create(const MemifOptions& options, rte_mempool* pool);
    /// One connection with a trusted peer over a socket (SOCK_SEQPACKET, not blocking) that is connected with it, a
    /// server or a client as `options` say. Once `link_up` has been true and is false again it stays so.
    static Result<std::unique_ptr<Memif>> create(const MemifOptions& options, rte_mempool* pool, FileDescriptor peer);
    ~Memif() override;
    /// In the child of a fork, instead of all else: closes the socket there, which would hide the parent's end from
    /// the peer, and says nothing to the peer.
    void abandon() { endpoint_->abandon(); }

    std::string_view name() const override { return name_; }
    const Capabilities& capabilities() const override { return capabilities_; }
    Result<void> up() override;
    void down() override;
    /// Also makes, keeps and remakes the connection: the only place where that happens. What a peer had sent before it
    /// hung up can still be received for a while; the link is down meanwhile.
    bool link_up() override;
    std::uint16_t rx_burst(std::uint16_t queue, Burst burst) noexcept override;
    std::uint16_t tx_burst(std::uint16_t queue, Burst burst) noexcept override;
    /// The connection's eventfd. Readable, too, when a connection has come or gone: ask again then, and want it again.
    int rx_event(std::uint16_t queue) const noexcept override;
    void want_rx_event(std::uint16_t queue, bool wanted) noexcept override;
    void counters(const CounterVisitor& visit) const override;

private:
    struct alignas(64) Lane {
        MemifCounters counters;
    };

    Memif(const MemifOptions& options, std::unique_ptr<memif::Endpoint> endpoint);
    bool keep_connection();
    void disconnect(std::string_view reason);

    std::string name_;
    Capabilities capabilities_;
    bool is_up_ = false;
    std::unique_ptr<memif::Endpoint> endpoint_;
    Gate<memif::Connection> gate_;  ///< users: receivers by queue, then transmitters by queue
    std::vector<Lane> lanes_;       ///< as the gate's users
    MemifLinkCounters link_;
    std::optional<Time> hung_up_;               ///< when we saw that the peer had
    std::vector<FileDescriptor> last_signals_;  ///< of the connection before
};

}  // namespace verbline::pmd

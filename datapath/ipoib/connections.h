// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// IPoIB connected mode (RFC 4755) on one port: IP packets of up to 64 KB as messages of RC queue pairs.
///
///     IpoibInterface ── send ──> connection's send queue ──┐                           ┌── frames of other QPNs
///     IpoibInterface <── received ── LargeReceives <──── rdma::Device <── OtherQueuePairs <── IpoibInterface::receive
///                                                          └── frames ──────────────────> the port's device
///
/// A connection carries packets one way, to the neighbour that accepted it; what the neighbour sends comes by
/// connections that it made. All that arrive share one receive queue.
///
/// Threads. The shard's functions are called by the thread that polls the port. The control thread makes queue pairs of
/// `device()`, connects them (control/ipoib/connector.h) and has them used:
///
///     control:  open ──────────> shard: sends to it ── its queue pair fails ──> control: failed
///     control:  Shard command CloseConnection ──> shard: close ──> control: closed; destroys the queue pair
///
/// A number is free again once `closed` has returned true for it.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "datapath/ipoib/large_receives.h"
#include "datapath/ipoib/other_queue_pairs.h"
#include "datapath/link/destination.h"
#include "datapath/rdma/queue_pair.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"
#include "pmd/netdev.h"

struct rte_mempool;

namespace verbline::ipoib {

/// The largest IP packet of a connection, as Linux has it: 64 KB less 16 bytes (ipoib.h, IPOIB_CM_MTU).
constexpr std::uint32_t connected_mtu = 65'520;

/// 0: none; else 1..max_connections.
using ConnectionNumber = std::uint16_t;

#define VERBLINE_CONNECTIONS_COUNTERS(X)                                                                       \
    X(tx_connected_packets, "packets given to connections")                                                    \
    X(tx_connected_bytes, "bytes of these packets")                                                            \
    X(tx_connected_copied, "packets copied to send them: they lay in too many pieces")                         \
    X(tx_dropped_connection_full, "packets for a connection that has too many unacknowledged")                 \
    X(tx_dropped_connection_lost, "packets for a connection that had failed")                                  \
    X(tx_dropped_connected_memory, "packets not sent by connections: in memory of others, or no large buffer") \
    X(rx_dropped_other_queue_pairs, "frames for queue pairs of connections dropped: too many in a burst")

struct ConnectionsCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_CONNECTIONS_COUNTERS)
};

class Connections {
public:
    static constexpr std::size_t max_connections = 256;  ///< each way
    static constexpr std::uint32_t send_requests = 128, send_segments = 32;

    struct Setup {
        std::string name;                  ///< unique in the process, at most 12 characters
        pmd::NetDevice* device = nullptr;  ///< of frames; its queue is the shard's that polls the port
        std::uint16_t queue = 0;
        rte_mempool* pool = nullptr;  ///< that the device receives into, and the router's packets are of
        int socket = pmd::any_numa_socket;
        std::uint32_t datagram_mtu = 2044;  ///< of IP packets to neighbours without a connection
        Time start = 0;                     ///< not later than the first poll
    };
    static Result<std::unique_ptr<Connections>> create(const Setup& setup);
    Connections(const Connections&) = delete;
    Connections& operator=(const Connections&) = delete;
    ~Connections();

    // The control thread's.

    rdma::Device& device() { return *device_; }
    /// A queue pair that sends, in state RESET.
    Result<std::unique_ptr<rdma::QueuePair>> make_sender();
    /// One that receives.
    Result<std::unique_ptr<rdma::QueuePair>> make_receiver();
    /// From now on packets for the number returned are sent by `pair`, which is in RTS; it must live until `closed`.
    /// `mtu`: of IP packets. None: all numbers are taken.
    std::optional<ConnectionNumber> open(rdma::QueuePair& pair, std::uint32_t mtu);
    /// Whether its queue pair has failed: the neighbour does not acknowledge.
    bool failed(ConnectionNumber number) const {
        return at(number).state.load(std::memory_order_acquire) == State::failed;
    }
    /// Packets given to it since it was opened.
    std::uint64_t sent(ConnectionNumber number) const { return at(number).sent.value() - at(number).sent_before; }
    /// True once, when the shard no longer uses it.
    bool closed(ConnectionNumber number);

    // The shard's.

    /// Takes a frame that is not the IPoIB interface's own.
    void put(rte_mbuf* frame) noexcept;
    /// Messages that have come, as LargeReceives::take.
    std::size_t received(pmd::Burst out, bool& any) noexcept { return receives_->take(out, any); }
    /// Takes ownership of packets, each with its IPoIB header, for the connections of their destinations.
    void send(pmd::Burst packets, std::span<const link::Destination*> to) noexcept;
    /// Sends what was given since, and receives; returns whether there was something to do.
    bool poll(Time now) noexcept;
    /// When to poll next, at the latest.
    std::optional<Time> deadline() noexcept { return device_->next_deadline(0); }
    /// True while a connection that makes progress is full: sources that can wait should.
    bool congested(Time now) const noexcept { return full_ && now - progress_ < patience; }
    /// By command: replaces the device by the same one with other decorators around it.
    void set_device(pmd::NetDevice& device) { others_.set_device(device); }
    /// By command: its queue pair is in the error state.
    void close(ConnectionNumber number) noexcept;
    /// The largest IP packet to a neighbour.
    std::uint32_t mtu_to(const link::Destination& to) const noexcept {
        return to.connection == 0 ? datagram_mtu_ : at(to.connection).mtu;
    }

    std::uint32_t datagram_mtu() const { return datagram_mtu_; }
    void counters(const CounterVisitor& visit) const;

private:
    enum class State : std::uint8_t { unused, open, failed, closed };
    static constexpr Time patience = 10 * millisecond;

    struct Connection {
        std::atomic<State> state{State::unused};
        // Set by `open`, before the state.
        rdma::QueuePair* pair = nullptr;
        std::uint32_t mtu = 0;
        std::uint64_t sent_before = 0;
        std::uint32_t begin = 0;  ///< SendQueue's count of requests at that time
        // The shard's.
        std::array<rte_mbuf*, send_requests> under_way{};  ///< by the number of the request
        std::uint32_t posted = 0, retired = 0;             ///< requests so far
        bool touched = false;                              ///< since the last poll
        Counter sent;
    };

    explicit Connections(const Setup& setup);
    Result<void> make(const Setup& setup);
    Result<std::unique_ptr<rdma::QueuePair>> make_pair(const rdma::QueuePairOptions& options);
    Connection& at(ConnectionNumber number) { return connections_[number - 1U]; }
    const Connection& at(ConnectionNumber number) const { return connections_[number - 1U]; }
    Counter* post(rte_mbuf*& packet, ConnectionNumber number) noexcept;
    bool gather(const rte_mbuf& packet, std::span<transport::Segment> out) const noexcept;
    rte_mbuf* copy(rte_mbuf* packet) noexcept;
    bool retire(Connection& connection) noexcept;
    void release(Connection& connection) noexcept;
    void discard_completions() noexcept;

    OtherQueuePairs others_;
    std::uint32_t datagram_mtu_;
    LargeReceives::Pool large_;
    std::span<std::byte> memory_;  ///< in which all packets lie
    std::unique_ptr<rdma::Device> device_;
    memory::PdId pd_{};
    std::optional<rdma::MemoryRegion> region_;
    std::unique_ptr<transport::CompletionQueue> send_completions_;
    std::unique_ptr<LargeReceives> receives_;
    std::vector<std::unique_ptr<rdma::QueuePair>> kept_back_;  ///< their numbers are interfaces' (first_qpn)
    std::vector<Connection> connections_;
    std::vector<ConnectionNumber> active_;  ///< the shard's: with requests under way or touched
    bool full_ = false;
    Time now_ = 0, progress_ = 0;  ///< of the last poll; of the last acknowledgement
    ConnectionsCounters counters_;
};

}  // namespace verbline::ipoib

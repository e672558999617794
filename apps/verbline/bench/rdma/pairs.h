// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The queue pairs of one end, with the memory and the completion queues that they share.
///
///     memory     | to send, pair 0 | received, pair 0 | to send, pair 1 | ...        TestSpec::stride bytes each
///
/// An XRC pair is an initiator, which sends, and a target, which receives by way of one shared receive queue. Used by
/// the thread that polls the port.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "apps/verbline/bench/rdma/messages.h"
#include "apps/verbline/bench/rdma/port.h"
#include "apps/verbline/bench/rdma/test_spec.h"
#include "datapath/rdma/queue_pair.h"

namespace verbline::rdma_bench {

/// What an end needs to know of the other's memory.
struct PeerMemory {
    wire::RKey rkey{};
    std::uint64_t address = 0;
    std::uint32_t srq = 0;
};

class Pairs {
public:
    /// Creates them in the state INIT. ENOMEM: too many, or too much memory.
    static Result<std::unique_ptr<Pairs>> create(Port& port, const TestSpec& spec);

    const TestSpec& spec() const { return spec_; }
    std::size_t count() const { return pairs_.size(); }
    PairNumbers numbers(std::size_t pair) const;
    PeerMemory memory() const;

    /// To RTS, with `mtu` bytes as the path MTU; receives are posted. Once for each pair.
    Result<void> connect(std::size_t pair, const PairNumbers& peer, const PeerMemory& memory, const rdma::Path& path,
                         std::uint32_t mtu);
    bool connected(std::size_t pair) const { return pairs_[pair].connected; }

    rdma::QueuePair& sender(std::size_t pair) { return *pairs_[pair].sends; }
    transport::CompletionQueue& sent() { return *sent_; }
    transport::CompletionQueue& received() { return *received_; }

    std::span<std::byte> outgoing(std::size_t pair) { return buffer(2 * pair); }
    /// What the peer sends or writes, without the room for a datagram's route.
    std::span<std::byte> incoming(std::size_t pair) { return buffer(2 * pair + 1); }

    /// A request of the test's operation over `segment`, which must outlive its posting: all but its id and flags.
    transport::SendRequest request(std::size_t pair, std::uint32_t size, transport::Segment& segment);
    /// Posts that many receives more. False: the queue is full.
    bool post_receives(std::size_t pair, std::size_t count);

private:
    struct Pair {
        std::unique_ptr<rdma::QueuePair> sends, receives;  ///< `receives`: XRC targets only
        wire::Psn first;
        bool connected = false;
        PairNumbers peer;
        std::optional<link::Envelope> envelope;  ///< UD
    };

    Pairs(Port& port, const TestSpec& spec) : device_(port.rdma()), pkey_(port.pkey()), spec_(spec) {}
    Result<void> make();
    Result<void> make_pair();
    Result<void> make_shared_queue();
    std::span<std::byte> buffer(std::size_t index);
    std::uint64_t address_at_peer(std::size_t pair) const;

    rdma::Device& device_;
    const wire::PKey pkey_;
    const TestSpec spec_;
    std::vector<std::byte> bytes_;
    memory::PdId pd_{};
    std::optional<rdma::MemoryRegion> region_;
    std::unique_ptr<transport::CompletionQueue> sent_, received_;
    std::optional<rdma::XrcDomain> domain_;
    std::unique_ptr<rdma::SharedReceiveQueue> shared_;
    PeerMemory peer_;
    std::vector<Pair> pairs_;  // last: destroyed first
};

}  // namespace verbline::rdma_bench

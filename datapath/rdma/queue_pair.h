// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A queue pair as the user holds it: its way through the states, and posting.

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <span>

#include "datapath/rdma/device.h"
#include "datapath/rdma/owned_pair.h"

namespace verbline::rdma {

/// INIT to RTR.
struct ReadyToReceive {
    wire::Qpn remote{};
    Path path{};
    std::uint32_t mtu = 1024;      ///< bytes: 256, 512, 1024, 2048, 4096
    wire::Psn first;               ///< expected of the peer's first request
    std::uint8_t max_reads = 1;    ///< READs and atomics that the peer may have under way
    std::uint8_t rnr_timer = 12;   ///< 0..31, IBTA table 46
    bool selective_ack = false;    ///< both ends offered it: see QueuePair::offers_selective_ack
    bool produce_credits = false;  ///< limit the peer to what is posted here
};

/// RTR to RTS; UD and UC use `first` alone.
using ReadyToSend = transport::RcRequester::Attributes;

struct PostFailure {
    transport::PostError why{};
    std::size_t index = 0;  ///< of the first request not accepted; those before it are
};

class QueuePair {
public:
    ~QueuePair();
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;

    wire::Qpn qpn() const { return pair().qpn(); }
    transport::QueuePairType type() const { return pair().type(); }
    transport::State state() const { return pair().state(); }
    /// Not of XRC targets.
    const transport::SendQueue::Limits& send_limits() const { return pair().channel().send_queue.limits(); }

    /// Not of queue pairs with a shared receive queue.
    const transport::ReceiveQueue::Limits& receive_limits() const { return pair().channel().receive_queue.limits(); }

    /// Whether this implementation knows selective acknowledgement. Ends exchange it as they exchange QPN and PSN, and
    /// use it if both do; over the wire nothing is assumed.
    static constexpr bool offers_selective_ack = true;

    /// An XRC target that has other handles beside this one.
    bool shared() const { return shared_ != nullptr && shared_.use_count() > 1; }

    // States. EINVAL: not from the state it is in, or attributes that cannot be.
    Result<void> init(const transport::QueuePair::InitAttributes& attributes);
    Result<void> ready_to_receive(const ReadyToReceive& attributes);
    Result<void> ready_to_send(const ReadyToSend& attributes);
    Result<void> drain();   ///< RTS to SQD; event send_queue_drained when nothing is under way
    Result<void> resume();  ///< SQD, and SQE of UC and UD, to RTS
    void error();
    void reset();

    // What may be changed without a new connection.
    void set_access(memory::Access access);
    void set_qkey(wire::QKey qkey);
    void set_rnr_timer(std::uint8_t timer);
    void set_retries(const ReadyToSend& attributes);  ///< `first` does not count
    /// In SQD: all that was begun is done.
    bool drained() const { return pair().drained(); }

    /// UD: takes part in a multicast group, on this device.
    Result<void> attach(const wire::Gid& group);
    Result<void> detach(const wire::Gid& group);

    /// Who posts to thousands of queue pairs in turn asks for the next few early: posting begins with what is no longer
    /// in any cache.
    void prefetch() const noexcept { pair().prefetch_post(); }

    std::expected<void, PostFailure> post(std::span<const transport::SendRequest> requests) noexcept;
    std::expected<void, PostFailure> post(std::span<const transport::ReceiveRequest> requests) noexcept;
    std::expected<void, PostFailure> post(const transport::SendRequest& request) noexcept {
        return post(std::span(&request, 1));
    }
    std::expected<void, PostFailure> post(const transport::ReceiveRequest& request) noexcept {
        return post(std::span(&request, 1));
    }

    // The same in steps, for those who collect requests first and send them, or think better of it, later.
    std::expected<void, transport::PostError> stage(const transport::SendRequest& request) noexcept {
        return pair().post(request);
    }
    void submit() noexcept;                          ///< all that is staged
    void withdraw() noexcept { pair().withdraw(); }  ///< all that is staged

    // Any thread. A mark behind the send requests submitted by now, and whether all before one are through: nobody
    // looks at what they name any more.
    std::uint32_t mark() const noexcept { return pair().channel().send_queue.posted(); }
    bool through(std::uint32_t mark) const noexcept { return pair().channel().send_queue.through(mark); }

private:
    friend class Device;
    QueuePair(Device& device, Engine& engine, const transport::QueuePair::Setup& setup);
    explicit QueuePair(std::shared_ptr<Device::OwnedPair> shared);

    template <class Change>
    Result<void> change(std::initializer_list<transport::State> from, const char* to, Change&& change);

    transport::QueuePair& pair() const { return owned_->pair; }
    Engine& engine() const { return owned_->engine; }
    Device& device() const { return owned_->owner; }

    // In one piece of memory with this handle; only an XRC target, which may have several handles, is apart.
    Device::OwnedPair* owned_ = nullptr;
    std::optional<Device::OwnedPair> own_;
    std::shared_ptr<Device::OwnedPair> shared_;
};

}  // namespace verbline::rdma

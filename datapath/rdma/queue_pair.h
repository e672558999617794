// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The user's handle of a queue pair: state transitions and posting.

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
    std::uint8_t max_reads = 1;    ///< READs and atomics that the peer may have outstanding
    std::uint8_t rnr_timer = 12;   ///< 0..31, IBTA table 46
    bool selective_ack = false;    ///< both ends offered it: see QueuePair::offers_selective_ack
    bool produce_credits = false;  ///< advertise end-to-end credits: receive requests posted here
};

/// RTR to RTS; UD and UC use only `first`.
using ReadyToSend = transport::RcRequester::Attributes;

struct PostFailure {
    transport::PostError why{};
    std::size_t index = 0;  ///< of the first request not accepted; those before it were posted
};

class QueuePair {
public:
    ~QueuePair();
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;

    wire::Qpn qpn() const { return pair().qpn(); }
    transport::QueuePairType type() const { return pair().type(); }
    transport::QueuePairState state() const { return pair().state(); }
    /// Not for XRC targets, which have no send queue.
    const transport::SendQueue::Limits& send_limits() const { return pair().context().send_queue.limits(); }

    /// Not for queue pairs with a shared receive queue.
    const transport::ReceiveQueue::Limits& receive_limits() const { return pair().context().receive_queue.limits(); }

    /// This implementation supports selective acknowledgement (transport/selective_ack.h). The ends exchange that like
    /// QPN and PSN, and enable it only if both support it; the transport itself does not negotiate.
    static constexpr bool offers_selective_ack = true;

    /// True if this is an XRC target that has further handles.
    bool shared() const { return shared_ != nullptr && shared_.use_count() > 1; }

    // State transitions, from any thread. EINVAL: not allowed from the current state, or invalid attributes. `init`: of
    // a device with a P_Key table the index counts.
    Result<void> init(const transport::TransportQueuePair::InitAttributes& attributes);
    Result<void> ready_to_receive(const ReadyToReceive& attributes);
    Result<void> ready_to_send(const ReadyToSend& attributes);
    Result<void> drain();   ///< RTS to SQD; event send_queue_drained once nothing is outstanding
    Result<void> resume();  ///< SQD, and SQE of UC and UD, to RTS
    void error();
    void reset();

    // Attributes that may be changed while connected.
    void set_access(memory::Access access);
    void set_qkey(wire::QKey qkey);
    void set_rnr_timer(std::uint8_t timer);
    void set_retries(const ReadyToSend& attributes);  ///< `first` is ignored
    /// True in SQD once all requests that were begun have completed.
    bool drained() const { return pair().drained(); }

    /// UD: joins or leaves a multicast group on this device. EINVAL for other types (attach).
    Result<void> attach(const wire::Gid& group);
    Result<void> detach(const wire::Gid& group);

    /// Prefetches what posting touches. For programs that post to thousands of queue pairs round robin, whose state has
    /// left the cache: call it a few queue pairs ahead.
    void prefetch() const noexcept { pair().prefetch_post(); }

    std::expected<void, PostFailure> post(std::span<const transport::SendRequest> requests) noexcept;
    std::expected<void, PostFailure> post(std::span<const transport::ReceiveRequest> requests) noexcept;
    std::expected<void, PostFailure> post(const transport::SendRequest& request) noexcept {
        return post(std::span(&request, 1));
    }
    std::expected<void, PostFailure> post(const transport::ReceiveRequest& request) noexcept {
        return post(std::span(&request, 1));
    }

    // Posting in steps: staged requests are invisible to the shard until `publish`, and it need not look for them until
    // `ring` or `send`.
    std::expected<void, transport::PostError> stage(const transport::SendRequest& request) noexcept {
        return pair().post(request);
    }
    void withdraw() noexcept { pair().withdraw(); }  ///< discards the staged requests
    void publish() noexcept { pair().publish(); }
    /// Any thread: rings the doorbell, which the next poll of the shard serves.
    void ring() noexcept { engine().ring(pair()); }
    /// The shard's thread, which needs no doorbell: transmits what was published, then polls (Engine::send). Returns
    /// false if that has to wait for the next poll.
    bool send(Time now) noexcept { return engine().send(pair(), now); }
    void submit() noexcept {
        publish();
        ring();
    }

    // Any thread. `mark` returns the position behind the send requests submitted so far. `through(mark)` returns true
    // once all requests before it are retired: the shard no longer reads their buffers and envelopes.
    std::uint32_t mark() const noexcept { return pair().context().send_queue.posted(); }
    bool through(std::uint32_t mark) const noexcept { return pair().context().send_queue.through(mark); }

private:
    friend class Device;
    QueuePair(Device& device, Engine& engine, const transport::TransportQueuePair::Setup& setup);
    explicit QueuePair(std::shared_ptr<Device::OwnedPair> shared);

    template <class Change>
    Result<void> change(std::initializer_list<transport::QueuePairState> from, const char* to, Change&& change);

    transport::TransportQueuePair& pair() const { return owned_->pair; }
    Engine& engine() const { return owned_->engine; }
    Device& device() const { return owned_->owner; }

    // Embedded in this handle (`own_`), except for an XRC target, which may have several handles (`shared_`).
    Device::OwnedPair* owned_ = nullptr;
    std::optional<Device::OwnedPair> own_;
    std::shared_ptr<Device::OwnedPair> shared_;
};

}  // namespace verbline::rdma

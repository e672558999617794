// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A UD queue pair with its buffers, for in-process services that send and receive short datagrams: MADs, ARP.
///
///     send ──> copied into the request ──> UD queue pair ──> device
///     `on_arrival`, once <── completion <────────┘
///     drain ──> datagrams where they lie, then their buffers are posted again
///
/// Threads: one thread at a time may call `send`, and one `drain`; the two may run concurrently. `on_arrival` is called
/// on the thread that polls the device, must not block nor call back, and fires again only after `drain` has emptied
/// the queue.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "datapath/rdma/device.h"
#include "datapath/rdma/queue_pair.h"

namespace verbline::rdma {

struct DatagramOptions {
    Device* device = nullptr;  ///< must outlive the Datagrams
    bool general_services = false;
    std::uint16_t slots = 64;   ///< in each direction
    std::size_t longest = 256;  ///< bytes of payload, in either direction
    std::function<void()> on_arrival{};
};

class Datagrams {
public:
    /// Bytes in front of each received payload: GRH, IPv6 header, or 20 bytes and an IPv4 header; meaningless if the
    /// packet had none of them.
    static constexpr std::size_t route_size = wire::Grh::size;
    using Route = std::span<const std::byte, route_size>;

    static Result<std::unique_ptr<Datagrams>> create(DatagramOptions options);
    Datagrams(const Datagrams&) = delete;
    Datagrams& operator=(const Datagrams&) = delete;

    QueuePair& pair() { return *pair_; }

    /// Takes the queue pair through RESET to RTS with other attributes, its number and groups unchanged. What has
    /// arrived and was not drained is lost. Not concurrently with `send` or `drain`.
    Result<void> restart(const transport::TransportQueuePair::InitAttributes& attributes);

    enum class Sent : std::uint8_t { yes, invalid_path, queue_full };
    struct Destination {
        Path path;
        wire::Qpn qpn{};
        wire::QKey qkey{};
        wire::PKey pkey{};  ///< used only with `general_services`
    };
    /// Copies the payload and posts it; the device's poll transmits it. invalid_path: no envelope can be built for the
    /// path. queue_full: try again later. `payload` is at most `longest` bytes.
    Sent send(const Destination& to, std::span<const std::byte> payload) noexcept;
    /// Returns how many sends have failed since the last call, and resumes the send queue after a failure.
    std::size_t take_failures() noexcept;

    /// Calls `take(completion, route, payload)` for each received datagram, up to `most` rounded up to a whole batch;
    /// one that failed, e.g. too long, has its status in the completion and an empty payload. Returns how many; fewer
    /// than `most`: the queue is empty and `on_arrival` fires at the next arrival. Works in batches of at most
    /// `batch_size`; `taken()` is called at the end of each, and the payloads of a batch stay valid until it returns.
    template <class Take, class Taken>
    std::size_t drain(std::size_t most, Take&& take, Taken&& taken);
    template <class Take>
    std::size_t drain(std::size_t most, Take&& take) {
        return drain(most, std::forward<Take>(take), [] {});
    }
    static constexpr std::size_t batch_size = 32;

    /// The way back to the sender of a received datagram, and its queue pair; Q_Key and P_Key are left to the caller.
    /// nullopt: it was for an address that is not ours, or that its route does not name.
    std::optional<Destination> source(const transport::Completion& completion, Route route) const;

private:
    explicit Datagrams(DatagramOptions options);
    Result<void> start();
    Result<void> bring_up(const transport::TransportQueuePair::InitAttributes& attributes);
    bool post_receive(std::size_t slot) noexcept;
    std::span<std::byte> buffer(std::size_t slot) { return std::span(buffers_).subspan(slot * stride_, stride_); }

    const DatagramOptions options_;
    const std::size_t stride_;  ///< between buffers: whole cache lines
    std::vector<std::byte> buffers_;
    std::optional<MemoryRegion> region_;
    wire::RKey lkey_{};
    std::unique_ptr<transport::CompletionQueue> sent_, received_;
    std::vector<link::Envelope> envelopes_;  ///< referred to by requests in the send queue
    std::size_t next_envelope_ = 0;
    std::unique_ptr<QueuePair> pair_;  ///< last: destroyed first
};

template <class Take, class Taken>
std::size_t Datagrams::drain(std::size_t most, Take&& take, Taken&& taken) {
    std::array<transport::Completion, batch_size> batch;
    std::size_t count = 0;
    for (bool armed = false; count < most;) {
        const auto n = received_->poll(batch);
        if (n == 0 && armed) break;
        if (n == 0) {
            received_->arm(transport::CompletionQueue::Armed::any);
            armed = true;  // arrivals before arming are not notified: poll once more
        }
        for (const auto& completion : std::span(batch).first(n)) {
            const std::span<const std::byte> bytes = buffer(static_cast<std::size_t>(completion.id));
            const bool whole = completion.status == transport::Status::success && completion.length >= route_size;
            take(completion, bytes.template first<route_size>(),
                 whole ? bytes.first(completion.length).subspan(route_size) : std::span<const std::byte>());
        }
        taken();
        for (const auto& completion : std::span(batch).first(n)) {
            std::ignore = post_receive(static_cast<std::size_t>(completion.id));
        }
        count += n;
    }
    return count;
}

}  // namespace verbline::rdma

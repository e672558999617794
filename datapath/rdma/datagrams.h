// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A UD queue pair with its buffers, for services of our own that send and receive short datagrams: MADs, ARP.
///
///     send ──> copied into the request ──> UD queue pair ──> device
///     `on_arrival`, once <── completion <────────┘
///     drain ──> each datagram where it lies, then its buffer is posted again
///
/// Threads: `send` by one at a time, `drain` by one at a time; both at once are fine. `on_arrival` is called by whoever
/// polls the device, must not block nor call back, and comes again only after a `drain`.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "datapath/rdma/device.h"
#include "datapath/rdma/queue_pair.h"

namespace verbline::rdma {

struct DatagramOptions {
    Device* device = nullptr;  ///< outlives it
    bool general_services = false;
    std::uint16_t slots = 64;   ///< in each direction
    std::size_t longest = 256;  ///< bytes of payload, in either direction
    std::function<void()> on_arrival{};
};

class Datagrams {
public:
    /// In front of each payload received: GRH, IPv6 header, IPv4 header behind 20 bytes, or nothing of use.
    static constexpr std::size_t route_size = wire::Grh::size;
    using Route = std::span<const std::byte, route_size>;

    static Result<std::unique_ptr<Datagrams>> create(DatagramOptions options);
    Datagrams(const Datagrams&) = delete;
    Datagrams& operator=(const Datagrams&) = delete;

    QueuePair& pair() { return *pair_; }

    enum class Sent : std::uint8_t { yes, no_way, queue_full };
    struct Destination {
        Path path;
        wire::Qpn qpn{};
        wire::QKey qkey{};
        wire::PKey pkey{};  ///< of general services
    };
    /// Whoever polls the device sends it.
    Sent send(const Destination& to, std::span<const std::byte> payload) noexcept;
    /// How many that were sent have failed since the last call, if any is known to.
    std::size_t take_failures() noexcept;

    /// `take(completion, route, payload)` for what has arrived, `most` or a few more; a datagram that was too long, or
    /// could not be received, comes with its status and an empty payload. Returns how many; fewer than `most`: that was
    /// all, and `on_arrival` will say when there is more.
    template <class Take>
    std::size_t drain(std::size_t most, Take&& take);

private:
    explicit Datagrams(DatagramOptions options);
    Result<void> start();
    bool post_receive(std::size_t slot) noexcept;
    std::span<std::byte> buffer(std::size_t slot) { return std::span(buffers_).subspan(slot * stride_, stride_); }

    const DatagramOptions options_;
    const std::size_t stride_;  ///< between buffers: whole cache lines
    std::vector<std::byte> buffers_;
    std::optional<MemoryRegion> region_;
    wire::RKey lkey_{};
    std::unique_ptr<transport::CompletionQueue> sent_, received_;
    std::vector<link::Envelope> envelopes_;  ///< of what is in the send queue
    std::size_t next_envelope_ = 0;
    std::unique_ptr<QueuePair> pair_;  ///< goes first
};

template <class Take>
std::size_t Datagrams::drain(std::size_t most, Take&& take) {
    std::array<transport::Completion, 32> batch;
    std::size_t count = 0;
    for (bool armed = false; count < most;) {
        const auto n = received_->poll(batch);
        if (n == 0 && armed) break;
        if (n == 0) {
            received_->arm(transport::CompletionQueue::Armed::any);
            armed = true;  // what came before is not told of: look once more
        }
        for (const auto& completion : std::span(batch).first(n)) {
            const auto slot = static_cast<std::size_t>(completion.id);
            const std::span<const std::byte> bytes = buffer(slot);
            const bool whole = completion.status == transport::Status::success && completion.length >= route_size;
            take(completion, bytes.template first<route_size>(),
                 whole ? bytes.first(completion.length).subspan(route_size) : std::span<const std::byte>());
            std::ignore = post_receive(slot);
        }
        count += n;
    }
    return count;
}

}  // namespace verbline::rdma

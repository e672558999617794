// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/stream.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace verbline::sim {
namespace {

constexpr auto rights = memory::Access::local_write | memory::Access::remote_write;

template <class T>
T must(Result<T> result) {
    if (!result) throw std::runtime_error(result.error().what);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace

Stream::End::End(Host& host, const StreamSetup& setup)
    : pd(host.device().allocate_pd()),
      data(setup.message),
      region(must(host.device().register_memory(pd, data, rights))),
      completions(host.device().create_cq(setup.under_way)),
      pair(must(host.device().create_queue_pair({.type = transport::QueuePairType::rc,
                                                 .pd = pd,
                                                 .send_completions = completions.get(),
                                                 .receive_completions = completions.get(),
                                                 .send = {.requests = setup.under_way, .segments = 1},
                                                 .receive = {.requests = 1, .segments = 1}}))) {}

Stream::Stream(World& world, Host& from, Host& to, const StreamSetup& setup)
    : setup_(setup), from_(from, setup), to_(to, setup) {
    const auto connect = [&](End& end, const End& peer, rdma::Path path) {
        must(end.pair->init({.access = rights}));
        must(end.pair->ready_to_receive({.remote = peer.pair->qpn(),
                                         .path = path,
                                         .mtu = setup.mtu,
                                         .first = setup.sender.first,
                                         .selective_ack = setup.selective_ack}));
        must(end.pair->ready_to_send(setup.sender));
    };
    connect(from_, to_, world.path(from, to, from.gid_v2_ipv4()));
    connect(to_, from_, world.path(to, from, to.gid_v2_ipv4()));
}

void Stream::turn() {
    std::array<transport::Completion, 16> completions;
    const auto n = from_.completions->poll(completions);
    for (std::size_t i = 0; i < n; ++i) {
        if (completions[i].status != transport::Status::success) throw std::runtime_error(text(completions[i].status));
    }
    under_way_ -= static_cast<std::uint32_t>(n);
    bytes_ += n * setup_.message;
    const transport::Segment segment{reinterpret_cast<std::uint64_t>(from_.data.data()), setup_.message,
                                     from_.region.lkey()};
    for (; under_way_ < setup_.under_way; ++under_way_) {
        const auto posted =
            from_.pair->post(transport::SendRequest{.segments = {&segment, 1},
                                                    .operation = transport::SendOperation::write,
                                                    .flags = transport::send_signalled,
                                                    .remote_address = reinterpret_cast<std::uint64_t>(to_.data.data()),
                                                    .rkey = to_.region.rkey()});
        if (!posted) throw std::runtime_error("a WRITE was not accepted");
    }
}

void run(World& world, std::span<const std::unique_ptr<Stream>> streams, Time end) {
    auto& network = world.network();
    for (auto now = network.now(); now < end;) {
        network.advance(now);
        auto next = network.next_event().value_or(end);
        for (const auto& stream : streams) stream->turn();
        for (std::size_t i = 0; i < world.hosts(); ++i) {
            auto& device = world.host(i).device();
            device.poll(0, now);
            next = std::min(next, device.next_deadline(0).value_or(end));
        }
        next = std::min(next, network.next_event().value_or(end));
        now = std::max(next, now + poll_interval);
    }
}

}  // namespace verbline::sim

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/channel.h"

#include <algorithm>
#include <array>
#include <random>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "pmd/base/clock.h"

namespace verbline::rdma_bench {
namespace {

constexpr std::uint16_t slots = 32;

/// Who has not asked for it cannot send to it. Not a controlled one (IBTA volume 1, 10.2.5), which has its highest bit.
wire::QKey random_qkey() {
    return wire::QKey{std::random_device()() >> 1};
}

std::optional<wire::Mad> header_of(std::span<const std::byte> mad) {
    if (mad.size() != wire::mad_size) return std::nullopt;
    const auto header = wire::Mad::parse(mad);
    if (!header || header->management_class != management_class) return std::nullopt;
    return *header;
}

Message message_of(const wire::Mad& header, std::span<const std::byte> mad) {
    Message message{
        .kind = MessageKind{header.attribute}, .modifier = header.modifier, .status = wire::MadStatus{header.status}};
    std::ranges::copy(mad.subspan(wire::Mad::size), message.payload.begin());
    return message;
}

}  // namespace

Result<std::unique_ptr<Channel>> Channel::create(Port& port, std::uint16_t number) {
    std::unique_ptr<Channel> channel(new Channel(port, number));
    auto datagrams = rdma::Datagrams::create({.device = &port.rdma(),
                                              .slots = slots,
                                              .longest = wire::mad_size,
                                              .on_arrival = [arrived = &channel->arrived_] { *arrived = true; }});
    if (!datagrams) return std::unexpected(datagrams.error());
    channel->datagrams_ = std::move(*datagrams);
    // Not from 1: a server's answer to a client that was killed is none to the next one.
    channel->transaction_ = static_cast<std::uint64_t>(monotonic_now()) << 8;
    return channel;
}

Result<void> Channel::connect(const rdma::Path& server, const Work& work) {
    auto found = find_service(port_, number_, server, work);
    if (!found) return std::unexpected(found.error());
    server_ = *found;
    qkey_ = server_.qkey;
    datagrams_->pair().set_qkey(qkey_);
    return {};
}

Result<void> Channel::listen() {
    qkey_ = random_qkey();
    datagrams_->pair().set_qkey(qkey_);
    auto service = Service::create(port_, number_, datagrams_->pair().qpn(), qkey_);
    if (!service) return std::unexpected(service.error());
    service_ = std::move(*service);
    return {};
}

Result<Message> Channel::ask(const Message& request, const Work& work) {
    std::optional<Message> response;
    const auto transaction = next_transaction();
    const auto until = monotonic_now() + patience;
    for (Time now = monotonic_now(), repeat = now; !response && now < until; now = monotonic_now()) {
        if (now >= repeat) {
            send(server_, request, transaction);
            repeat = now + repeat_after;
        }
        port_.poll(now);
        drain([&](const Peer&, const wire::Mad& header, const Message& message) {
            if (header.method == wire::MadMethod::get_response && header.transaction == transaction) response = message;
        });
        if (auto worked = work(now); !worked) return std::unexpected(worked.error());
    }
    if (response) return *response;
    return failure(ETIMEDOUT,
                   fmt::format("{} does not answer; is its verbline bench rdma still there?", text(server_.path)));
}

void Channel::serve(const Answer& answer) {
    service_->serve();
    drain([&](const Peer& from, const wire::Mad& header, const Message& request) {
        if (header.method != wire::MadMethod::set) return;
        if (const auto response = answer(from, request))
            send(from, *response, header.transaction, wire::MadMethod::get_response);
    });
}

void Channel::drain(const Taker& take) {
    if (!std::exchange(arrived_, false)) return;
    const auto take_one = [&](const transport::Completion& completion, auto route, std::span<const std::byte> mad) {
        const auto header = header_of(mad);
        auto from = header ? datagrams_->source(completion, route) : std::nullopt;
        if (!from) return;
        from->qkey = qkey_;
        take(*from, *header, message_of(*header, mad));
    };
    while (datagrams_->drain(slots, take_one) >= slots) {}
}

void Channel::send(const Peer& to, const Message& message, std::uint64_t transaction, wire::MadMethod method) {
    std::array<std::byte, wire::mad_size> bytes{};
    const wire::Mad header{.management_class = management_class,
                           .method = method,
                           .status = std::to_underlying(message.status),
                           .transaction = transaction,
                           .attribute = std::to_underlying(message.kind),
                           .modifier = message.modifier};
    header.emit(std::span(bytes).first<wire::Mad::size>());
    std::ranges::copy(message.payload, bytes.begin() + wire::Mad::size);
    std::ignore = datagrams_->take_failures();
    std::ignore = datagrams_->send(to, bytes);  // requests are repeated until they are answered
}

}  // namespace verbline::rdma_bench

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/channel.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "pmd/base/clock.h"

namespace verbline::rdma_bench {
namespace {

constexpr Time repeat_after = 100 * millisecond;
constexpr std::uint16_t slots = 32;

Message message_of(const mad::GmpArrival& arrival) {
    Message message{.kind = MessageKind{arrival.header.attribute},
                    .modifier = arrival.header.modifier,
                    .status = wire::MadStatus{arrival.header.status}};
    std::ranges::copy(arrival.mad.subspan<wire::Mad::size>(), message.payload.begin());
    return message;
}

}  // namespace

Result<std::unique_ptr<Channel>> Channel::create(Port& port) {
    std::unique_ptr<Channel> channel(new Channel(port));
    auto gsi = mad::Gsi::create({.device = &port.rdma(), .slots = slots});
    if (!gsi) return std::unexpected(gsi.error());
    channel->gsi_ = std::move(*gsi);
    channel->gsi_->on_ready([arrived = &channel->arrived_] { *arrived = true; });
    // Not from 1: a server's answer to a client that was killed is none to the next one.
    channel->transaction_ = static_cast<std::uint64_t>(monotonic_now()) << 8;
    return channel;
}

Result<Message> Channel::ask(const mad::GmpPeer& server, const Message& request, const Work& work) {
    std::optional<Message> response;
    const auto transaction = next_transaction();
    gsi_->receive(management_class, [&](std::span<const mad::GmpArrival> burst) {
        for (const auto& arrival : burst) {
            if (arrival.header.method == wire::MadMethod::get_response && arrival.header.transaction == transaction)
                response = message_of(arrival);
        }
    });
    Result<void> worked;
    const auto until = monotonic_now() + patience;
    for (Time now = monotonic_now(), repeat = now; worked && !response && now < until; now = monotonic_now()) {
        if (now >= repeat) {
            send(server, request, transaction);
            repeat = now + repeat_after;
        }
        port_.poll(now);
        if (std::exchange(arrived_, false)) gsi_->drain();
        worked = work(now);
    }
    gsi_->receive(management_class, {});
    if (!worked) return std::unexpected(worked.error());
    if (!response)
        return failure(ETIMEDOUT, fmt::format("{} does not answer; is its verbline bench rdma still there?",
                                              link::address_text(server.path.address.dgid)));
    return *response;
}

void Channel::serve(const Answer& answer) {
    if (!std::exchange(arrived_, false)) return;
    gsi_->receive(management_class, [&](std::span<const mad::GmpArrival> burst) {
        for (const auto& arrival : burst) {
            if (arrival.header.method != wire::MadMethod::set) continue;
            if (const auto response = answer(arrival.from, message_of(arrival)))
                send(arrival.from, *response, arrival.header.transaction, wire::MadMethod::get_response);
        }
    });
    gsi_->drain();
    gsi_->receive(management_class, {});
}

void Channel::send(const mad::GmpPeer& to, const Message& message, std::uint64_t transaction, wire::MadMethod method) {
    std::array<std::byte, wire::mad_size> bytes{};
    const wire::Mad header{.management_class = management_class,
                           .method = method,
                           .status = std::to_underlying(message.status),
                           .transaction = transaction,
                           .attribute = std::to_underlying(message.kind),
                           .modifier = message.modifier};
    header.emit(std::span(bytes).first<wire::Mad::size>());
    std::ranges::copy(message.payload, bytes.begin() + wire::Mad::size);
    gsi_->send(to, bytes);
}

}  // namespace verbline::rdma_bench

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/client.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/bench/rdma/bandwidth.h"
#include "apps/verbline/bench/rdma/latency.h"
#include "apps/verbline/bench/rdma/session.h"
#include "pmd/base/clock.h"

namespace verbline::rdma_bench {
namespace {

constexpr Time link_patience = 10 * second;
constexpr Time alive_interval = 500 * millisecond;

std::uint64_t progress(const Account& account) {
    return account.sent + account.received;
}

}  // namespace

Result<void> Client::connect(const wire::Gid& server, TestSpec spec) {
    if (auto up = await_link(port_, stop_, link_patience); !up) return up;
    auto channel = Channel::create(port_, number_);
    if (!channel) return std::unexpected(channel.error());
    channel_ = std::move(*channel);
    auto path = port_.path_to(server, stop_);
    if (!path) return std::unexpected(path.error());
    server_ = path->path;
    if (auto found = channel_->connect(server_, [this](Time) { return may_go_on(port_, stop_); }); !found) return found;

    spec.mtu = std::min(spec.mtu, path->mtu);
    auto pairs = Pairs::create(port_, spec);
    if (!pairs) return std::unexpected(pairs.error());
    pairs_ = std::move(*pairs);
    auto hello = Hello::of(spec);
    const auto own = pairs_->memory();
    hello.rkey = own.rkey, hello.address = own.address, hello.srq = own.srq;
    const auto answer = ask(MessageKind::hello, payload_of(hello));
    if (!answer) return std::unexpected(answer.error());
    const auto welcome = read_payload<Welcome>(answer->payload);
    if (const auto refusal = static_cast<Refusal>(welcome.refusal); refusal != Refusal::none)
        return failure(ECONNREFUSED, fmt::format("the server refuses: {}", text(refusal)));
    mtu_ = std::min(spec.mtu, std::max(welcome.mtu, 256u));
    if (spec.transport == Transport::ud && spec.largest > mtu_)
        return failure(EMSGSIZE, fmt::format("--size: the path carries datagrams of {} bytes at most", mtu_));
    server_memory_ = {.rkey = welcome.rkey, .address = welcome.address, .srq = welcome.srq};
    return exchange_pairs();
}

Result<void> Client::exchange_pairs() {
    for (std::size_t first = 0; first < pairs_->count(); first += pairs_of_a_message) {
        const auto count = std::min(pairs_of_a_message, pairs_->count() - first);
        Payload payload{};
        const auto place = [&](auto& of, std::size_t i) {
            return std::span(of).subspan(i * PairNumbers::size).template first<PairNumbers::size>();
        };
        for (std::size_t i = 0; i < count; ++i) wire::write(pairs_->numbers(first + i), place(payload, i));
        auto answer = ask(MessageKind::pairs, payload, static_cast<std::uint32_t>(first));
        if (!answer) return std::unexpected(answer.error());
        for (std::size_t i = 0; i < count; ++i) {
            const auto theirs = wire::read<PairNumbers>(place(answer->payload, i)).value_or(PairNumbers{});
            if (auto good = pairs_->connect(first + i, theirs, server_memory_, server_, mtu_); !good) return good;
        }
    }
    return {};
}

Result<RoundResult> Client::run(const Round& round) {
    const auto traffic = make_traffic(*pairs_, round, End::client);
    if (auto begun = ask(MessageKind::begin, payload_of(Begin::of(round))); !begun)
        return std::unexpected(begun.error());
    if (auto moved = move_data(*traffic); !moved) return std::unexpected(moved.error());
    const auto server = settle(*traffic);
    if (!server) return std::unexpected(server.error());
    if (auto good = await_rest(*traffic, *server); !good) return std::unexpected(good.error());
    if (auto good = check(*traffic, *server); !good) return std::unexpected(good.error());
    return result(*traffic, *server);
}

void Client::bye() {
    std::ignore = ask(MessageKind::bye, {});  // it may have ended
}

Result<Message> Client::ask(MessageKind kind, const Payload& payload, std::uint32_t modifier, Traffic* traffic) {
    auto answer =
        channel_->ask({.kind = kind, .modifier = modifier, .payload = payload}, [&](Time now) -> Result<void> {
            if (traffic != nullptr && traffic->step(now) == Traffic::Step::failed)
                return std::unexpected(request_failure(port_, traffic->failure()));
            return may_go_on(port_, stop_);
        });
    if (answer && answer->status != wire::MadStatus::ok && answer->status != wire::MadStatus::busy)
        return failure(EPROTO, "the server refuses a request; it serves another client, or is of another version");
    return answer;
}

Result<void> Client::move_data(Traffic& traffic) {
    ProgressWatch watch;
    for (Time now = monotonic_now(), look = now, alive = now;; now = monotonic_now()) {
        port_.poll(now);
        switch (traffic.step(now)) {
            case Traffic::Step::done: return {};
            case Traffic::Step::failed: return std::unexpected(request_failure(port_, traffic.failure()));
            case Traffic::Step::working: break;
        }
        if (now < look) continue;
        look = now + millisecond;
        if (auto good = may_go_on(port_, stop_); !good) return good;
        if (!watch.moves(progress(traffic.counts()), now))
            return failure(ETIMEDOUT,
                           pairs_->spec().reliable()
                               ? "the server does not answer; is it gone?"
                               : "no answer comes: a message was lost, and the transport does not repeat it");
        if (now < alive) continue;
        alive = now + alive_interval;
        channel_->notify({.kind = MessageKind::alive});
    }
}

/// Tells the server what was sent, until it has received that too; what the server has done.
Result<Account> Client::settle(Traffic& traffic) {
    ProgressWatch watch;
    for (;;) {
        auto answer = ask(MessageKind::end, payload_of(traffic.account()), 0, &traffic);
        if (!answer) return std::unexpected(answer.error());
        const auto server = read_payload<Account>(answer->payload);
        if (answer->status == wire::MadStatus::ok) return server;
        if (!watch.moves(progress(server), monotonic_now()))
            return failure(ETIMEDOUT, "the server does not receive what was sent");
    }
}

/// Bidirectional SENDs: what the server has sent is to arrive here, too.
Result<void> Client::await_rest(Traffic& traffic, const Account& server) {
    if (pairs_->spec().one_sided()) return {};
    auto received = traffic.counts().received;
    for (auto until = monotonic_now() + quiet; received < server.sent;) {
        const auto now = monotonic_now();
        port_.poll(now);
        if (traffic.step(now) == Traffic::Step::failed)
            return std::unexpected(request_failure(port_, traffic.failure()));
        const auto more = traffic.counts().received;
        if (more != std::exchange(received, more)) until = now + quiet;
        if (now > until) break;
    }
    return {};
}

Result<void> Client::check(const Traffic& traffic, const Account& server) const {
    const auto& spec = pairs_->spec();
    const auto ours = traffic.counts();
    const auto arrived = [&](const Account& from, const Account& to) {
        return spec.one_sided() || (to.received == from.sent && to.received_bytes == from.sent * traffic.round().size);
    };
    const bool answered = spec.measure == Measure::latency || spec.bidirectional;
    if (spec.reliable() && (!arrived(ours, server) || (answered && !arrived(server, ours))))
        return failure(EIO, fmt::format("{} messages of {} bytes were sent, and {} of {} bytes in all received",
                                        ours.sent, traffic.round().size, server.received, server.received_bytes));
    const bool read = spec.operation == Operation::read;
    const bool any_here = read || answered;
    const bool any_there = read ? spec.bidirectional : spec.reliable() || spec.one_sided() || server.received > 0;
    if (spec.atomic() && server.atomics != ours.sent)
        return failure(EIO, fmt::format("{} atomics were sent, and {} executed", ours.sent, server.atomics));
    const bool right_here = !any_here || (spec.atomic() && !spec.bidirectional) || traffic.contents_are_right(server);
    if (!right_here || (any_there && server.wrong_bytes != 0)) return failure(EIO, "what arrived is not what was sent");
    return {};
}

RoundResult Client::result(Traffic& traffic, const Account& server) const {
    const auto& spec = pairs_->spec();
    RoundResult made{.round = traffic.round(), .sent = traffic.counts().sent, .delivered = server.received};
    if (auto* const latency = dynamic_cast<LatencyTraffic*>(&traffic)) {
        made.iterations = latency->exchanges();
        for (const auto time : latency->times()) made.elapsed += time;
        made.latency = latency_figures(latency->times(), spec.awaits_response() ? 1 : 2);
        return made;
    }
    made.ours = dynamic_cast<const Bandwidth&>(traffic).figures();
    made.iterations = made.ours.messages;
    if (spec.bidirectional)
        made.theirs = {.messages = server.timed_messages,
                       .elapsed = static_cast<Time>(server.elapsed),
                       .peak_nanoseconds = server.peak_picos > 0
                                               ? std::optional(static_cast<double>(server.peak_picos) / 1000)
                                               : std::nullopt};
    return made;
}

}  // namespace verbline::rdma_bench

// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/bench/rdma/server.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "apps/verbline/bench/rdma/bandwidth.h"
#include "apps/verbline/bench/rdma/session.h"
#include "pmd/base/clock.h"

namespace verbline::rdma_bench {
namespace {

constexpr Time lingering = 300 * millisecond;  ///< the answer to the client's last request may be lost

}  // namespace

Result<void> Server::open() {
    auto channel = Channel::create(port_, number_);
    if (!channel) return std::unexpected(channel.error());
    channel_ = std::move(*channel);
    return channel_->listen();
}

Result<void> Server::run() {
    const Channel::Answer answer_one = [this](const Peer& from, const Message& request) {
        return answer(from, request);
    };
    Time over_at = 0;
    for (Time now = monotonic_now(), look = now;; now = monotonic_now()) {
        port_.poll(now);
        channel_->serve(answer_one);
        if (traffic_ && traffic_->step(now) == Traffic::Step::failed)
            return std::unexpected(request_failure(port_, traffic_->failure()));
        if (now < look) continue;
        look = now + millisecond;
        if (over_ && over_at == 0) over_at = now;
        if (over_ && (now - over_at > lingering || !port_.link_up())) return {};
        if (!client_ && stop_.load(std::memory_order_relaxed)) return {};
        if (!client_ || over_) continue;
        if (auto good = may_go_on(port_, stop_); !good) return good;
        if (now - heard_ > patience)
            return failure(ETIMEDOUT,
                           fmt::format("the client {} says nothing any more; is it gone?", text(client_->path)));
    }
}

std::optional<Message> Server::answer(const Peer& from, const Message& request) {
    Message response{.kind = request.kind, .modifier = request.modifier};
    if (request.kind == MessageKind::hello) {
        response.payload = hello(from, request);
        return response;
    }
    if (!client_ || !is_same(from, *client_)) return std::nullopt;
    heard_ = monotonic_now();
    Result<void> good;
    switch (request.kind) {
        case MessageKind::pairs: {
            auto payload = pairs(request);
            if (payload) response.payload = *payload;
            good = payload ? Result<void>() : std::unexpected(payload.error());
            break;
        }
        case MessageKind::begin: good = begin(request); break;
        case MessageKind::end: return end(request);
        case MessageKind::bye: over_ = true; break;
        case MessageKind::alive: return std::nullopt;
        default: response.status = wire::MadStatus::unsupported_method_attribute;
    }
    if (!good) response.status = wire::MadStatus::invalid_value;
    return response;
}

Payload Server::hello(const Peer& from, const Message& request) {
    const bool again = client_ && is_same(from, *client_) && request.payload == first_hello_;
    if (client_ && !again) return payload_of(Welcome{.refusal = std::to_underlying(Refusal::occupied)});
    if (!again) {
        const auto made = welcome(from, read_payload<Hello>(request.payload));
        if (made.refusal != 0) return payload_of(made);
        first_hello_ = request.payload;
    }
    heard_ = monotonic_now();
    const auto own = pairs_->memory();
    return payload_of(Welcome{.mtu = mtu_, .rkey = own.rkey, .address = own.address, .srq = own.srq});
}

/// A new client: its queue pairs are made.
Welcome Server::welcome(const Peer& from, const Hello& hello) {
    const auto refuse = [](Refusal refusal) { return Welcome{.refusal = std::to_underlying(refusal)}; };
    if (hello.version != protocol_version) return refuse(Refusal::version);
    const auto spec = hello.spec();
    if (!spec) return refuse(Refusal::unsupported);
    auto pairs = Pairs::create(port_, *spec);
    if (!pairs) return refuse(Refusal::no_memory);
    pairs_ = std::move(*pairs);
    client_memory_ = {.rkey = hello.rkey, .address = hello.address, .srq = hello.srq};
    mtu_ = std::min(spec->mtu, port_.max_mtu());
    client_ = from;
    return {};
}

Result<Payload> Server::pairs(const Message& request) {
    Payload answer{};
    if (request.modifier >= pairs_->count()) return failure(EINVAL, "no such queue pair");
    const auto count = std::min(pairs_of_a_message, pairs_->count() - request.modifier);
    const auto place = [](auto& of, std::size_t i) {
        return std::span(of).subspan(i * PairNumbers::size).template first<PairNumbers::size>();
    };
    for (std::size_t i = 0; i < count; ++i) {
        const auto pair = request.modifier + i;
        const auto theirs = wire::read<PairNumbers>(place(request.payload, i)).value_or(PairNumbers{});
        if (!pairs_->connected(pair))
            if (auto good = pairs_->connect(pair, theirs, client_memory_, client_->path, mtu_); !good)
                return std::unexpected(good.error());
        wire::write(pairs_->numbers(pair), place(answer, i));
    }
    return answer;
}

Result<void> Server::begin(const Message& request) {
    const auto round = read_payload<Begin>(request.payload).round(pairs_->spec());
    if (!round) return failure(EINVAL, "no such round");
    if (traffic_ && traffic_->round().index == round->index) return {};  // the answer was lost
    for (std::size_t pair = 0; pair < pairs_->count(); ++pair)
        if (!pairs_->connected(pair)) return failure(ENOTCONN, "not all queue pairs are connected");
    traffic_ = make_traffic(*pairs_, *round, End::server);
    arrived_ = 0, last_arrival_ = monotonic_now();
    return {};
}

Message Server::end(const Message& request) {
    Message response{.kind = request.kind};
    const auto client = read_payload<Account>(request.payload);
    if (!traffic_ || traffic_->round().index != client.index) {
        response.status = wire::MadStatus::invalid_value;
        return response;
    }
    if (!settled(client, monotonic_now())) {
        response.status = wire::MadStatus::busy;
        response.payload = payload_of(traffic_->counts());
        return response;
    }
    auto account = traffic_->account();
    account.wrong_bytes = traffic_->contents_are_right(client) ? 0 : 1;
    response.payload = payload_of(account);
    if (rounds_.empty() || rounds_.back().round.index != client.index)
        rounds_.push_back({.round = traffic_->round(), .account = account});
    return response;
}

/// What the client has sent is here, or is lost, and what was to be sent is sent.
bool Server::settled(const Account& client, Time now) {
    const auto account = traffic_->counts();
    if (account.received != std::exchange(arrived_, account.received)) last_arrival_ = now;
    const auto& spec = pairs_->spec();
    if (spec.bidirectional && traffic_->step(now) != Traffic::Step::done) return false;
    if (spec.one_sided() || account.received >= client.sent) return true;
    return !spec.reliable() && now - last_arrival_ > quiet;
}

}  // namespace verbline::rdma_bench

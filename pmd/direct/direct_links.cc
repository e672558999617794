// SPDX-License-Identifier: BSD-3-Clause
// The control thread's side: requests, establishes, maintains and removes links.
#include "pmd/direct/direct_links.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "datapath/wire/text.h"
#include "pmd/base/free_descriptors.h"
#include "pmd/bridge/frame.h"
#include "pmd/direct/table.h"

namespace verbline::pmd {
namespace {

using State = DirectLink::State;

constexpr Time last_words = 200 * millisecond;  ///< what a peer had sent that has hung up is received so long

}  // namespace

Result<std::unique_ptr<DirectLinks>> DirectLinks::create(std::unique_ptr<NetDevice> lane,
                                                         const DirectOptions& options) {
    std::unique_ptr<DirectLinks> made(new DirectLinks(std::move(lane), options));
    if (made->wakeups_.fd() < 0 || !made->changed_ || !made->wakeups_.add(made->changed_.get(), packets)) {
        return no_descriptors(EMFILE);
    }
    return made;
}

DirectLinks::DirectLinks(std::unique_ptr<NetDevice> lane, const DirectOptions& options)
    : Decorator(std::move(lane)), options_(options), changed_(EventDescriptor::make()), gate_(2) {
    gate_.set(std::make_unique<Table>());
}

DirectLinks::~DirectLinks() = default;

void DirectLinks::use(DirectBroker& broker) {
    const std::scoped_lock lock(control_);
    broker_ = &broker;
    wakeups_.add(broker.event(), control);
}

void DirectLinks::restart() {
    const std::scoped_lock lock(control_);
    end_all();
    wakeups_.add(broker_->event(), control);
}

void DirectLinks::end_all() {
    for (auto& [mac, peer] : peers_) retire(peer.link);
    peers_.clear();
    publish(options_.clock());
}

void DirectLinks::abandon() {
    for (auto& [mac, peer] : peers_)
        if (peer.link) peer.link->pair().abandon();
}

void DirectLinks::down() {
    Decorator::down();
    const std::scoped_lock lock(control_);
    end_all();
}

bool DirectLinks::link_up() {
    const bool up = Decorator::link_up();
    lane_up_.store(up, std::memory_order_relaxed);
    const std::scoped_lock lock(control_);
    urgent_.store(false, std::memory_order_relaxed);  // before the look: what comes from now on is for the next one
    if (broker_ == nullptr) return up;
    const Time now = options_.clock();
    bool changed = take_news(now);
    changed |= upkeep_links(now);
    changed |= forget(now);
    changed |= answer_wish(now);
    if (changed) publish(now);
    const auto is_connecting = [](const auto& entry) {
        const auto& [mac, peer] = entry;
        return peer.asked || (peer.link && peer.link->state() == State::connecting);
    };
    connecting_.store(std::ranges::any_of(peers_, is_connecting), std::memory_order_relaxed);
    return up;
}

bool DirectLinks::take_news(Time now) {
    bool changed = false;
    while (auto news = broker_->next_news()) {
        begin(std::move(*news), now);
        changed = true;
    }
    return changed;
}

void DirectLinks::begin(DirectNews news, Time now) {
    const auto peer = mac_number(news.peer);
    const auto known = peers_.find(peer);
    const bool has_link = known != peers_.end() && known->second.link;
    const bool over = !has_link || known->second.link->state() == State::ending;
    if (news.kind == DirectNews::Kind::refused) {
        control_counters_.direct_refused.add();
        if (over) refuse(peer, now);  // else both have requested a link, and the peer's request arrived first
        return;
    }
    const bool room = has_link || links() < max_links;
    auto pair = room ? open_pair(news) : nullptr;
    if (!pair) {
        control_counters_.direct_failures.add();
        broker_->end(news.id);
        if (over) refuse(peer, now);
        return;
    }
    // An existing link has ended on the peer's side: the peer has a new one, or is a new program with that address.
    auto& entry = peers_[peer];
    retire(entry.link);
    entry.link = std::make_unique<DirectLink>(peer, news.id, std::move(pair), now);
    entry.asked = false;
}

/// Null: its socket was lost on the way, or there is no memory.
std::unique_ptr<Memif> DirectLinks::open_pair(DirectNews& news) {
    if (!news.socket) return nullptr;
    wakeups_.add(news.socket.get(), control);  // the handshake, and its end
    auto pair = Memif::create({.path = "direct " + wire::to_string(news.peer),
                               .server = news.kind == DirectNews::Kind::offered,
                               .log2_ring_size = options_.log2_ring_size,
                               .buffer_size = options_.buffer_size,
                               .mtu = static_cast<std::uint16_t>(capabilities().max_packet - RTE_ETHER_HDR_LEN)},
                              options_.pool, std::move(news.socket));
    if (!pair || !(*pair)->up()) return nullptr;
    return std::move(*pair);
}

bool DirectLinks::upkeep_links(Time now) {
    bool changed = false;
    for (auto& [mac, peer] : peers_)
        if (peer.link) changed |= upkeep(peer, now);
    return changed;
}

/// Upkeep of a peer's link. True if its state has changed, or it was removed.
bool DirectLinks::upkeep(Peer& peer, Time now) {
    auto& link = *peer.link;
    const bool up = link.pair().link_up();
    const Time passed = now - link.since();
    switch (link.state()) {
        case State::connecting:
            if (up) {
                link.become(State::up, now);
                return true;
            }
            if (passed <= answer_limit) return false;
            control_counters_.direct_failures.add();
            broker_->end(link.id());
            retire(peer.link);
            peer.until = now + refusal_time;
            return true;
        case State::up:
            if (up) return false;
            broker_->end(link.id());
            link.become(State::ending, now);
            return true;
        case State::ending:
            if (passed <= last_words) return false;
            retire(peer.link);
            return true;
    }
    return false;
}

/// Unanswered requests count as refused; refusals expire.
bool DirectLinks::forget(Time now) {
    for (auto& [mac, peer] : peers_) {
        if (!peer.asked || now < peer.until) continue;
        peer.asked = false;
        peer.until = now + refusal_time;
    }
    return std::erase_if(peers_, [now](const auto& entry) {
               const auto& [mac, peer] = entry;
               return !peer.link && !peer.asked && peer.until <= now;
           }) > 0;
}

/// Requests a link with the peer that the sender has recorded. If that is not possible yet, it stays recorded.
bool DirectLinks::answer_wish(Time now) {
    const auto peer = wanted_.load(std::memory_order_acquire);
    if (peer == 0) return false;
    const auto known = peers_.find(peer);
    const bool open = known == peers_.end() || known->second.may_be_asked(now);
    const bool room = links() < max_links;
    if (open && room && !ask(peer, now)) return false;
    if (open && !room) refuse(peer, now);
    wanted_.store(0, std::memory_order_release);
    return open;
}

/// False: not now.
bool DirectLinks::ask(std::uint64_t peer, Time now) {
    if (!may_ask(now) || !broker_->ask(mac_of(peer))) return false;
    control_counters_.direct_asked.add();
    auto& entry = peers_[peer];
    entry.asked = true;
    entry.until = now + answer_limit;
    return true;
}

/// Rate-limits requests, for programs that talk to many hosts behind the hub's uplinks.
bool DirectLinks::may_ask(Time now) {
    const auto earned =
        static_cast<unsigned>(std::min<Time>((now - last_question_) / question_interval, first_questions));
    if (earned > 0) {
        questions_ = std::min(questions_ + earned, first_questions);
        last_question_ = now;
    }
    if (questions_ == 0) return false;
    --questions_;
    return true;
}

void DirectLinks::refuse(std::uint64_t peer, Time now) {
    const auto is_refusal = [](const auto& entry) { return !entry.second.link && !entry.second.asked; };
    if (std::ranges::count_if(peers_, is_refusal) >= static_cast<std::ptrdiff_t>(max_refusals)) {
        peers_.erase(std::ranges::find_if(peers_, is_refusal));
    }
    auto& entry = peers_[peer];
    entry.asked = false;
    entry.until = now + refusal_time;
}

/// Packet threads may still use it: it is destroyed once they have the next table.
void DirectLinks::retire(std::unique_ptr<DirectLink>& link) {
    if (link) retired_.push_back(std::move(link));
}

std::size_t DirectLinks::links() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(peers_, [](const auto& entry) { return entry.second.link != nullptr; }));
}

void DirectLinks::publish(Time now) {
    auto table = std::make_unique<Table>();
    for (auto& [mac, peer] : peers_) {
        const auto state = peer.link ? peer.link->state() : State::connecting;
        if (state != State::connecting) table->receivers.push_back(peer.link.get());
        if (!peer.may_be_asked(now)) table->paths.emplace(mac, state == State::up ? peer.link.get() : nullptr);
    }
    gate_.set(std::move(table));
    for (const auto& link : retired_) link->pair().counters(ended_.add());
    retired_.clear();
    changed_.signal();
}

void DirectLinks::counters(const CounterVisitor& visit) const {
    Decorator::counters(visit);
    rx_counters_.each(visit);
    tx_counters_.each(visit);
    control_counters_.each(visit);
    const std::scoped_lock lock(control_);
    const auto is_up = [](const auto& entry) { return entry.second.link && entry.second.link->state() == State::up; };
    visit("direct_links", static_cast<std::uint64_t>(std::ranges::count_if(peers_, is_up)), "direct links now");
    CounterSums sums;
    ended_.each(sums.add());
    for (const auto& [mac, peer] : peers_)
        if (peer.link) peer.link->pair().counters(sums.add());
    sums.each([&visit](std::string_view name, std::uint64_t value, std::string_view help) {
        visit("direct_" + std::string(name), value, std::string(help) + " (direct links)");
    });
}

}  // namespace verbline::pmd

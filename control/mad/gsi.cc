// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/gsi.h"

#include <algorithm>
#include <utility>

namespace verbline::mad {

Gsi::~Gsi() = default;

Result<std::unique_ptr<Gsi>> Gsi::create(GsiOptions options) {
    std::unique_ptr<Gsi> made(new Gsi(std::move(options)));
    auto datagrams = rdma::Datagrams::create({.device = made->options_.device,
                                              .general_services = true,
                                              .slots = made->options_.slots,
                                              .longest = wire::mad_size,
                                              .on_arrival = [gsi = made.get()] { gsi->notify(); }});
    if (!datagrams) return std::unexpected(datagrams.error());
    made->datagrams_ = std::move(*datagrams);
    return made;
}

void Gsi::send(const GmpPeer& to, MadBytes mad) noexcept {
    {
        const std::scoped_lock lock(send_mutex_);
        transport_counters_.tx_errors.add(datagrams_->take_failures());
        rdma::Datagrams::Destination destination{.path = to.path, .qpn = to.qpn, .qkey = to.qkey, .pkey = to.pkey};
        if (!find_next_hop(destination.path)) return counters_.tx_dropped_no_next_hop.add();
        switch (datagrams_->send(destination, mad)) {
            case rdma::Datagrams::Sent::yes: transport_counters_.tx_mads.add(); break;
            case rdma::Datagrams::Sent::invalid_path: return transport_counters_.tx_errors.add();
            case rdma::Datagrams::Sent::queue_full: return transport_counters_.tx_dropped_queue_full.add();
        }
    }
    if (options_.on_posted) options_.on_posted();
}

bool Gsi::find_next_hop(rdma::Path& path) const {
    const bool roce = options_.device->options().kind == link::GidTable::Kind::roce;
    if (!roce || path.mac != wire::MacAddress{}) return true;
    const auto mac = options_.next_hop ? options_.next_hop(path.gid_index, path.address.dgid) : std::nullopt;
    path.mac = mac.value_or(path.mac);
    return mac.has_value();
}

void Gsi::receive(wire::MadClass management_class, Receiver receiver) {
    const std::scoped_lock lock(drain_mutex_);
    if (receiver) {
        receivers_.insert_or_assign(management_class, std::make_shared<Receiver>(std::move(receiver)));
    } else {
        receivers_.erase(management_class);
    }
}

std::size_t Gsi::drain(Drainer who) {
    const std::scoped_lock draining(drain_mutex_);
    {
        const std::scoped_lock lock(ready_mutex_);
        const auto* const first = first_drainer();
        if (first != nullptr && first < &on_ready_[std::to_underlying(who)]) return 0;
        notified_ = false;
    }
    const auto count = datagrams_->drain(
        most_at_once, [this](const auto& completion, auto route, auto mad) { take(completion, route, mad); },
        [this] { hand_over(); });
    if (count >= most_at_once) notify();
    return count;
}

void Gsi::take(const transport::Completion& completion, rdma::Datagrams::Route route, std::span<const std::byte> mad) {
    const bool too_long = completion.status == transport::Status::local_length_error;
    if (completion.status != transport::Status::success && !too_long) return counters_.rx_errors.add();
    if (mad.size() != wire::mad_size) return transport_counters_.rx_dropped_bad_length.add();
    transport_counters_.rx_mads.add();
    const auto header = wire::Mad::parse(mad);
    if (!header) return transport_counters_.rx_dropped_bad_version.add();
    const auto pkey = wire::PKey{completion.pkey_index};
    if (!in_partition(pkey)) return counters_.rx_dropped_bad_pkey.add();
    const auto from = datagrams_->source(completion, route);
    if (!from) return counters_.rx_dropped_not_ours.add();
    if (header->management_class != burst_class_) hand_over();
    burst_class_ = header->management_class;
    burst_.push_back({.from = {.path = from->path, .qpn = from->qpn, .pkey = pkey},
                      .header = *header,
                      .mad = mad.first<wire::mad_size>()});
}

void Gsi::set_pkeys(std::vector<wire::PKey> pkeys) {
    const std::scoped_lock lock(pkeys_mutex_);
    options_.pkeys = std::move(pkeys);
}

bool Gsi::in_partition(wire::PKey pkey) const {
    const std::scoped_lock lock(pkeys_mutex_);
    return std::ranges::any_of(options_.pkeys, [&](auto each) { return wire::match(each, pkey); });
}

void Gsi::hand_over() {
    if (burst_.empty()) return;
    if (const auto found = receivers_.find(burst_class_); found != receivers_.end()) {
        const auto receiver = found->second;
        (*receiver)(burst_);
    } else {
        transport_counters_.rx_dropped_no_receiver.add(burst_.size());
    }
    burst_.clear();
}

/// Null: nobody drains. Requires `ready_mutex_`.
std::function<void()>* Gsi::first_drainer() {
    const auto found = std::ranges::find_if(on_ready_, [](const auto& each) { return static_cast<bool>(each); });
    return found != on_ready_.end() ? &*found : nullptr;
}

/// Waits for a drain under way: the next one is of who is first then.
void Gsi::on_ready(std::function<void()> on_ready, Drainer who) {
    const std::scoped_lock draining(drain_mutex_);
    const std::scoped_lock lock(ready_mutex_);
    on_ready_[std::to_underlying(who)] = std::move(on_ready);
    if (auto* const first = first_drainer(); notified_ && first != nullptr) (*first)();
}

void Gsi::notify() {
    const std::scoped_lock lock(ready_mutex_);
    notified_ = true;
    if (auto* const first = first_drainer()) (*first)();
}

void Gsi::counters(const CounterVisitor& visit) const {
    transport_counters_.each(visit);
    counters_.each(visit);
}

}  // namespace verbline::mad

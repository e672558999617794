// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/proxying.h"

#include <type_traits>
#include <utility>
#include <variant>

namespace verbline::router {

Proxying::~Proxying() {
    for (const auto& [id, port] : ports_) port->observe_neighbours(nullptr);
}

void Proxying::add(ControlPort& port) {
    if (ports_.emplace(port.id(), &port).second) port.observe_neighbours(this);
}

void Proxying::remove(ControlPort& port) {
    if (!ports_.contains(port.id())) return;
    perform(proxy_.remove_port(port.id()));
    port.observe_neighbours(nullptr);
    ports_.erase(port.id());
}

void Proxying::received(forward::InterfaceId port, const neighbour::Message& message) {
    if (message.source) perform(proxy_.heard(port, *message.source, loop_.now()));
    if (!message.solicits) return;
    for (const auto& own : ports_.at(port)->addresses()) {
        if (own.gid == message.subject) return;  // the port's own answer
    }
    perform(proxy_.requested(port, message, loop_.now()));
}

void Proxying::wanted(forward::InterfaceId port, const wire::Gid& address) {
    perform(proxy_.wanted(port, address, loop_.now()));
}

void Proxying::resolved(forward::InterfaceId port, const wire::Gid& address) {
    perform(proxy_.resolved(port, address, loop_.now()));
}

void Proxying::lost(forward::InterfaceId port, const wire::Gid& address) {
    perform(proxy_.lost(port, address, loop_.now()));
}

void Proxying::addresses_changed(forward::InterfaceId port, const std::vector<link::InterfaceAddress>& addresses) {
    perform(proxy_.set_addresses(port, addresses));
}

void Proxying::perform(const Proxy::Actions& actions) {
    queue_.insert(queue_.end(), actions.begin(), actions.end());
    if (std::exchange(running_, true)) return;
    while (!queue_.empty()) {
        const auto action = std::move(queue_.front());
        queue_.pop_front();
        run(action);
    }
    running_ = false;
}

void Proxying::run(const Proxy::Action& action) {
    const auto one = [&]<class What>(const What& what) {
        if constexpr (std::is_same_v<What, Proxy::Answer>) {
            ports_.at(what.port)->answer_for_other(what.request);
        } else if constexpr (std::is_same_v<What, Proxy::Resolve>) {
            ports_.at(what.port)->resolve(what.address);
        } else if constexpr (std::is_same_v<What, Proxy::Verify>) {
            ports_.at(what.port)->verify(what.address);
        } else {
            const bool add = std::is_same_v<What, Proxy::AddRoute>;
            if (!routes_(add, what.port, what.address)) counters_.proxy_routes_refused.add();
        }
    };
    std::visit(one, action);
}

void Proxying::counters(const CounterVisitor& visit) const {
    proxy_.counters().each(visit);
    counters_.each(visit);
    visit("proxy_hosts", proxy_.size(), "hosts known, or asked for");
}

}  // namespace verbline::router

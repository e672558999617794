// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/manager.h"

#include <tuple>
#include <utility>

#include "control/cm/core.h"

namespace verbline::cm {

Manager::Manager(Options options, mad::GmpChannel& channel)
    : core_(std::make_shared<Core>(std::move(options), channel)) {}

Manager::~Manager() {
    core_->close();
}

Result<EndpointPointer> Manager::connect(const Request& request, Time now) {
    return core_->connect(request, now);
}

Result<EndpointPointer> Manager::resolve(const ServiceRequest& request, Time now) {
    return core_->resolve(request, now);
}

Result<EndpointPointer> Manager::listen(wire::CmServiceId service, std::uint64_t mask, Time now) {
    return core_->listen(service, mask, now);
}

void Manager::receive(std::span<const mad::GmpArrival> burst, Time now) {
    core_->receive(burst, now);
}

void Manager::tick(Time now) {
    core_->tick(now);
}

std::optional<Time> Manager::deadline() const {
    return core_->timers().deadline();
}

void Manager::repeat_disconnects(Time now) {
    for (const auto& session : core_->sessions().all()) {
        if (session->state() != ConnectionState::dreq_sent) continue;
        std::ignore = session->step<Connection>(now, [](Connection& connection, Actions& actions) {
            connection.repeat_disconnect(actions);
            return Result<void>();
        });
    }
}

std::vector<Manager::Shown> Manager::show() const {
    std::vector<Shown> rows;
    for (const auto& session : core_->sessions().all()) rows.push_back(session->shown());
    return rows;
}

std::size_t Manager::size() const {
    return core_->sessions().size();
}

void Manager::counters(const CounterVisitor& visit) const {
    core_->counters().each(visit);
    visit("half_open", core_->half_open().taken(), "requests of peers half open now");
    visit("closing", core_->closing().taken(), "dropped endpoints that still close, or refuse what comes again");
}

}  // namespace verbline::cm

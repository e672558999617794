// SPDX-License-Identifier: BSD-3-Clause
#include "control/sa/agent.h"

#include <utility>

namespace verbline::sa {

Agent::Agent(mad::Transport& transport, control::Loop& loop, const AgentOptions& options)
    : transport_(transport),
      loop_(loop),
      client_(transport, loop),
      paths_(client_, loop, options.paths),
      groups_(client_, loop, options.membership),
      subscriptions_(client_, loop),
      watch_(client_, groups_, loop, [this] {
          counters_.losses_found.add();
          start_over();
          loss_observers_.notify();
      }) {
    transport_.listen([this](mad::PortEvent what) { event(what); });
    client_.on_report([this](const wire::Notice& notice) { report(notice); });
    subscriptions_.renew();
}

Agent::~Agent() {
    transport_.listen({});
}

void Agent::event(mad::PortEvent event) {
    if (event == mad::PortEvent::sm_change) watch_.expect_another();
    if (event != mad::PortEvent::port_down) {
        start_over_ = loop_.after(0, [this] { start_over(); });
    }
    observers_.notify(event);
}

void Agent::start_over() {
    counters_.start_overs.add();
    groups_.lost();
    subscriptions_.renew();
    paths_.doubt_all();
}

void Agent::report(const wire::Notice& notice) {
    const bool comes = notice.trap == static_cast<std::uint16_t>(wire::Trap::gid_in_service);
    const bool goes = notice.trap == static_cast<std::uint16_t>(wire::Trap::gid_out_of_service);
    if (notice.generic && (comes || goes)) {
        (comes ? counters_.gids_in_service : counters_.gids_out_of_service).add();
        paths_.doubt(wire::notice_gid(notice));
    }
    if (report_observer_) report_observer_(notice);
}

void Agent::counters(const CounterVisitor& visit) const {
    transport_.counters(visit);
    client_.transactions().counters().each(visit);
    visit("requests_outstanding", client_.transactions().outstanding(), "transactions that wait for their answer now");
    visit("requests_queued", client_.transactions().queued(), "transactions that wait for others to end first now");
    client_.counters().each(visit);
    paths_.cache().counters().each(visit);
    counters_.each(visit);
}

}  // namespace verbline::sa

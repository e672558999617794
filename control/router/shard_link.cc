// SPDX-License-Identifier: BSD-3-Clause
#include "control/router/shard_link.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <rte_mbuf.h>

namespace verbline::router {
namespace {

constexpr unsigned ring_capacity = 1024;
constexpr Time retry_period = millisecond;
/// A shard that is flooded with what it has to hand up must not keep the loop from the events of others.
constexpr unsigned events_per_turn = 256;

/// Frees what an undelivered message owns.
void release(const Command& command) {
    if (const auto* transmit = std::get_if<Transmit>(&command)) rte_pktmbuf_free(transmit->packet);
    if (const auto* deliver = std::get_if<Deliver>(&command)) rte_pktmbuf_free(deliver->packet);
}
void release(const Event& event) {
    rte_pktmbuf_free(packet_of(event));
}

}  // namespace

Result<std::unique_ptr<ShardLink>> ShardLink::create(control::Loop& loop, const std::string& name, Handler handler,
                                                     int socket) {
    auto commands = Ring<Command>::create(name + "_commands", ring_capacity, socket);
    if (!commands) return std::unexpected(commands.error());
    auto events = Ring<Event>::create(name + "_events", ring_capacity, socket);
    if (!events) return std::unexpected(events.error());
    auto wake = EventDescriptor::make();
    if (!wake) return failure(errno, std::string("cannot create an eventfd: ") + std::strerror(errno));
    auto link = std::unique_ptr<ShardLink>(
        new ShardLink(loop, std::move(*commands), std::move(*events), std::move(wake), std::move(handler)));
    if (!link->shard_signal_) return failure(errno, std::string("cannot create an eventfd: ") + std::strerror(errno));
    auto watch = loop.watch(link->wake_.get(), [self = link.get()](std::uint32_t) { self->drain(); });
    if (!watch) return std::unexpected(watch.error());
    link->watch_ = std::move(*watch);
    return link;
}

ShardLink::ShardLink(control::Loop& loop, Ring<Command> commands, Ring<Event> events, EventDescriptor wake,
                     Handler handler)
    : loop_(loop),
      commands_(std::move(commands)),
      events_(std::move(events)),
      wake_(std::move(wake)),
      handler_(std::move(handler)) {}

ShardLink::~ShardLink() {
    while (const auto event = events_.pop()) release(*event);
    while (const auto command = commands_.pop()) release(*command);
    for (const auto& command : backlog_) release(command);
}

void ShardLink::send(const Command& command) {
    if (backlog_.empty() && commands_.push(command)) {
        shard_signal_.wake_up();
        return;
    }
    if (std::holds_alternative<Transmit>(command) || std::holds_alternative<Deliver>(command)) {
        counters_.control_tx_dropped_shard_busy.add();
        return release(command);
    }
    backlog_.push_back(command);
    if (!retry_) retry_ = loop_.every(retry_period, [this] { send_backlog(); });
}

void ShardLink::send_backlog() {
    while (!backlog_.empty() && commands_.push(backlog_.front())) backlog_.pop_front();
    shard_signal_.wake_up();
    if (backlog_.empty()) retry_.cancel();
}

void ShardLink::drain() {
    // Reset before reading the ring: a wake-up for an event that comes in between then finds us awake again.
    wake_.drain();
    for (unsigned n = 0; n < events_per_turn; ++n) {
        const auto event = events_.pop();
        if (!event) return;
        handler_(*event);
    }
    wake_.signal();  // the rest, after others
}

void ShardLink::counters(const CounterVisitor& visit) const {
    counters_.each(visit);
    visit("commands_waiting", waiting(), "commands that wait until the shard has taken earlier ones");
}

}  // namespace verbline::router

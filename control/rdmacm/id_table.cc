// SPDX-License-Identifier: BSD-3-Clause
#include "control/rdmacm/id_table.h"

namespace verbline::rdmacm {

Id& IdTable::create(EventQueue& queue, std::uint64_t user, PortSpace space, QueuePairType type) {
    // Numbers wrap after 2^32 ids; skip those still in use.
    do ++last_;
    while (last_ == 0 || ids_.contains(IdNumber{last_}));
    auto id = std::make_unique<Id>();
    id->number = IdNumber{last_};
    id->queue = &queue;
    id->user = user;
    id->space = space;
    id->type = type;
    by_queue_[&queue].insert(id->number);
    ++queue.ids;
    return *ids_.emplace(id->number, std::move(id)).first->second;
}

Id* IdTable::find(IdNumber number) {
    const auto found = ids_.find(number);
    return found == ids_.end() ? nullptr : found->second.get();
}

const Id* IdTable::find(IdNumber number) const {
    const auto found = ids_.find(number);
    return found == ids_.end() ? nullptr : found->second.get();
}

void IdTable::erase(Id& id) {
    attach(id, nullptr);
    wait_until(id, std::nullopt);
    const auto queue = by_queue_.find(id.queue);
    queue->second.erase(id.number);
    --id.queue->ids;
    if (queue->second.empty()) by_queue_.erase(queue);
    ids_.erase(id.number);
}

void IdTable::move(Id& id, EventQueue& queue) {
    const auto before = by_queue_.find(id.queue);
    before->second.erase(id.number);
    if (before->second.empty()) by_queue_.erase(before);
    by_queue_[&queue].insert(id.number);
    --id.queue->ids, ++queue.ids;
    id.queue = &queue;
}

std::vector<IdNumber> IdTable::of(EventQueue& queue) const {
    const auto found = by_queue_.find(&queue);
    if (found == by_queue_.end()) return {};
    return {found->second.begin(), found->second.end()};
}

void IdTable::attach(Id& id, cm::EndpointPointer endpoint) {
    if (id.connection.endpoint) by_endpoint_.erase(id.connection.endpoint.get());
    if (endpoint) by_endpoint_.emplace(endpoint.get(), id.number);
    id.connection.endpoint = std::move(endpoint);
}

Id* IdTable::find(const cm::Endpoint& endpoint) {
    const auto found = by_endpoint_.find(&endpoint);
    return found == by_endpoint_.end() ? nullptr : find(found->second);
}

void IdTable::wait_until(Id& id, std::optional<Time> deadline) {
    if (id.deadline) deadlines_.erase({*id.deadline, id.number});
    if (deadline) deadlines_.emplace(*deadline, id.number);
    id.deadline = deadline;
}

std::optional<Time> IdTable::deadline() const {
    return deadlines_.empty() ? std::nullopt : std::optional(deadlines_.begin()->first);
}

Id* IdTable::expired(Time now) {
    if (deadlines_.empty() || deadlines_.begin()->first > now) return nullptr;
    Id* id = find(deadlines_.begin()->second);
    wait_until(*id, std::nullopt);
    return id;
}

}  // namespace verbline::rdmacm

// SPDX-License-Identifier: BSD-3-Clause
#include "control/sa/paths.h"

#include <utility>

namespace verbline::sa {

Paths::Paths(Client& client, control::Loop& loop, const PathCacheLimits& limits)
    : client_(client), loop_(loop), cache_(limits) {}

PathKey Paths::key(const wire::Gid& destination, wire::PKey pkey) const {
    return {.source = client_.transport().port().gid(), .destination = destination, .pkey = pkey};
}

void Paths::resolve(const PathKey& key, Handler handler) {
    const Waiter waiter{++last_waiter_};
    handlers_.emplace(last_waiter_, std::move(handler));
    PathCache::Actions actions;
    cache_.resolve(key, waiter, loop_.now(), actions);
    perform(actions);
}

void Paths::doubt_all() {
    PathCache::Actions actions;
    cache_.doubt_all(loop_.now(), actions);
    perform(actions);
}

void Paths::doubt(const wire::Gid& gid) {
    PathCache::Actions actions;
    cache_.doubt(gid, loop_.now(), actions);
    perform(actions);
}

void Paths::perform(const PathCache::Actions& actions) {
    for (const auto& action : actions) {
        if (const auto* asked = std::get_if<PathCache::Query>(&action)) {
            query(*asked);
        } else if (const auto* resolved = std::get_if<PathCache::Resolved>(&action)) {
            answer(resolved->waiter, resolved->path);
        } else if (const auto* failed = std::get_if<PathCache::Failed>(&action)) {
            answer(failed->waiter, std::unexpected(failed->why));
        } else if (const auto* change = std::get_if<PathCache::Change>(&action)) {
            changed_.notify(change->key, change->path);
        }
    }
    arm();
}

void Paths::query(const PathCache::Query& query) {
    wire::PathRecord record{
        .destination_gid = query.key.destination, .source_gid = query.key.source, .pkey = query.key.pkey};
    auto components = wire::path_component::destination_gid | wire::path_component::source_gid;
    if (query.key.service_level != PathKey::any_service_level) {
        record.service_level = query.key.service_level;
        components |= wire::path_component::service_level;
    }
    client_.path(record, components, [this, id = query.id](const Answer<wire::PathRecord>& reply) {
        PathCache::Actions actions;
        const auto what = reply ? PathCache::Answer(*reply) : PathCache::Answer(reply.error());
        cache_.answered(id, what, loop_.now(), actions);
        perform(actions);
    });
}

void Paths::answer(Waiter waiter, const Answer<wire::PathRecord>& answer) {
    if (auto handler = handlers_.extract(static_cast<std::uint64_t>(waiter))) handler.mapped()(answer);
}

void Paths::arm() {
    const auto deadline = cache_.deadline();
    if (!deadline) return timer_.cancel();
    timer_ = loop_.at(*deadline, [this] {
        PathCache::Actions actions;
        cache_.tick(loop_.now(), actions);
        perform(actions);
    });
}

}  // namespace verbline::sa

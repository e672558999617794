// SPDX-License-Identifier: BSD-3-Clause
#include "control/sa/path_cache.h"

#include <iterator>
#include <utility>

namespace verbline::sa {

PathCache::Found PathCache::condition(const Entry& entry, Time now) {
    if (entry.path) return entry.doubtful || now >= entry.expires ? Found::doubtful : Found::fresh;
    return entry.absent && now < entry.expires ? Found::absent : Found::unknown;
}

PathCache::Lookup PathCache::find(const PathKey& key, Time now) {
    const auto it = entries_.find(key);
    const auto found = it == entries_.end() ? Found::unknown : condition(it->second, now);
    switch (found) {
        case Found::unknown:
            counters_.misses.add();
            if (it != entries_.end()) ++it->second.misses;
            return {found, nullptr};
        case Found::absent: counters_.negative_hits.add(); break;
        case Found::doubtful: counters_.stale_hits.add(); break;
        case Found::fresh: counters_.hits.add(); break;
    }
    ++it->second.hits;
    it->second.used = true;
    const auto& path = it->second.path;
    return {found, path ? &*path : nullptr};
}

void PathCache::resolve(const PathKey& key, Waiter waiter, Time now, Actions& out) {
    if (const auto it = entries_.find(key); it != entries_.end() && it->second.query != 0 && !it->second.path) {
        if (it->second.waiters.size() >= limits_.max_waiters) {
            counters_.rejected_full.add();
            out.push_back(Failed{waiter, {.reason = Failure::Reason::queue_full}});
            return;
        }
        counters_.coalesced.add();
        ++it->second.misses;
        it->second.waiters.push_back(waiter);
        return;
    }
    const auto [found, path] = find(key, now);
    if (found == Found::absent) {
        out.push_back(Failed{waiter, entries_.at(key).absent.value_or(Failure{.status = SaStatus::no_records})});
    } else if (path != nullptr) {
        out.push_back(Resolved{waiter, *path, found == Found::doubtful});
        if (found == Found::fresh) return;
        want_revalidation(key, entries_.at(key));
        pump(now, out);
    } else if (auto* entry = make(key, out)) {
        entry->waiters.push_back(waiter);
        ask(key, *entry, out);
    } else {
        counters_.rejected_full.add();
        out.push_back(Failed{waiter, {.reason = Failure::Reason::queue_full}});
    }
}

void PathCache::answered(std::uint64_t id, const Answer& answer, Time now, Actions& out) {
    const auto question = queries_.find(id);
    if (question == queries_.end()) return;
    const auto [key, revalidation] = question->second;
    queries_.erase(question);
    if (revalidation) --revalidating_;
    auto& entry = entries_.at(key);  // never evicted while a query is out
    entry.query = 0;
    if (const auto* path = std::get_if<wire::PathRecord>(&answer)) {
        silent_until_.reset();
        store(key, entry, *path, now, out);
    } else if (const auto& why = std::get<Failure>(answer);
               why.reason == Failure::Reason::refused && !passes(why.status)) {
        silent_until_.reset();
        store_absence(key, entry, why, now, out);
    } else {
        silent_until_ = now + limits_.retry;
        unanswered(key, entry, why, out);
    }
    pump(now, out);
}

void PathCache::store(const PathKey& key, Entry& entry, const wire::PathRecord& path, Time now, Actions& out) {
    if (entry.path && *entry.path != path) {
        counters_.changed.add();
        out.push_back(Change{key, path});
    }
    entry.path = path;
    entry.absent.reset();
    entry.expires = now + limits_.ttl;
    entry.doubtful = false;
    if (std::exchange(entry.doubted_meanwhile, false)) put_in_doubt(key, entry);
    for (const auto waiter : std::exchange(entry.waiters, {})) out.push_back(Resolved{waiter, path, entry.doubtful});
}

void PathCache::store_absence(const PathKey& key, Entry& entry, const Failure& why, Time now, Actions& out) {
    // The port may have come into service after the SA wrote this.
    if (std::exchange(entry.doubted_meanwhile, false)) return ask(key, entry, out);
    if (entry.path) {
        counters_.changed.add();
        out.push_back(Change{key, std::nullopt});
    }
    entry.path.reset();
    entry.doubtful = false;
    entry.absent = why;
    entry.expires = now + limits_.negative_ttl;
    for (const auto waiter : std::exchange(entry.waiters, {})) out.push_back(Failed{waiter, why});
}

void PathCache::unanswered(const PathKey& key, Entry& entry, const Failure& why, Actions& out) {
    counters_.timeouts.add();
    entry.doubted_meanwhile = false;
    if (entry.path) return want_revalidation(key, entry);
    for (const auto waiter : std::exchange(entry.waiters, {})) out.push_back(Failed{waiter, why});
    forget(key);
}

void PathCache::doubt_all(Time now, Actions& out) {
    for (auto& [key, entry] : entries_) put_in_doubt(key, entry);
    silent_until_.reset();  // the SA that reported this answers again
    pump(now, out);
}

void PathCache::doubt(const wire::Gid& gid, Time now, Actions& out) {
    for (auto& [key, entry] : entries_) {
        if (key.destination == gid || key.source == gid) put_in_doubt(key, entry);
    }
    pump(now, out);
}

void PathCache::put_in_doubt(const PathKey& key, Entry& entry) {
    if (entry.query != 0) entry.doubted_meanwhile = true;
    if (!entry.path) {
        entry.expires = 0;  // a doubtful negative entry is expired
        return;
    }
    if (!entry.doubtful) counters_.invalidated.add();
    want_revalidation(key, entry);
}

void PathCache::want_revalidation(const PathKey& key, Entry& entry) {
    entry.doubtful = true;
    if (entry.query == 0 && !std::exchange(entry.queued, true)) revalidations_.push_back(key);
}

void PathCache::pump(Time now, Actions& out) {
    while (!revalidations_.empty()) {
        if (silent_until_ && now < *silent_until_) return;
        if (revalidating_ >= (silent_until_ ? 1 : limits_.max_revalidations)) return;
        const auto key = revalidations_.front();
        revalidations_.pop_front();
        const auto it = entries_.find(key);
        if (it == entries_.end() || !std::exchange(it->second.queued, false)) continue;
        if (condition(it->second, now) == Found::doubtful) ask(key, it->second, out);
    }
}

void PathCache::ask(const PathKey& key, Entry& entry, Actions& out) {
    const bool revalidation = entry.path.has_value();
    counters_.queries.add();
    if (revalidation) {
        counters_.revalidations.add();
        ++revalidating_;
    }
    entry.query = ++last_query_;
    queries_.emplace(entry.query, Question{key, revalidation});
    out.push_back(Query{entry.query, key});
}

void PathCache::tick(Time now, Actions& out) {
    pump(now, out);
}

std::optional<Time> PathCache::deadline() const {
    return revalidations_.empty() || revalidating_ != 0 ? std::nullopt : silent_until_;
}

PathCache::Entry* PathCache::make(const PathKey& key, Actions& out) {
    if (const auto it = entries_.find(key); it != entries_.end()) return &it->second;  // an absence that has expired
    if (entries_.size() >= limits_.max_paths && !evict_one(out)) return nullptr;
    ages_.push_front(key);
    auto& entry = entries_[key];
    entry.age = ages_.begin();
    return &entry;
}

bool PathCache::evict_one(Actions& out) {
    constexpr int second_chances = 64, tries = 2 * second_chances;
    for (int n = 0; n < tries; ++n) {
        const auto oldest = std::prev(ages_.end());
        auto& entry = entries_.at(*oldest);
        const bool spared = n < second_chances && std::exchange(entry.used, false);
        if (spared || entry.query != 0) {  // requests still wait for its query
            ages_.splice(ages_.begin(), ages_, oldest);
            continue;
        }
        counters_.evicted.add();
        if (entry.path) out.push_back(Change{*oldest, std::nullopt});
        forget(*oldest);
        return true;
    }
    return false;
}

void PathCache::forget(const PathKey& key) {
    const auto it = entries_.find(key);
    const auto age = it->second.age;
    entries_.erase(it);
    ages_.erase(age);
}

void PathCache::each(Time now, const std::function<void(const Shown&)>& visit) const {
    for (const auto& key : ages_) {
        const auto& entry = entries_.at(key);
        visit({.key = key,
               .found = condition(entry, now),
               .path = entry.path,
               .expires = entry.expires,
               .hits = entry.hits,
               .misses = entry.misses});
    }
}

}  // namespace verbline::sa

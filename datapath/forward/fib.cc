// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/forward/fib.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_memory.h>
#include <rte_rcu_qsbr.h>

#include <fmt/format.h>

namespace verbline::forward {
namespace {

constexpr std::uint32_t bits(wire::Ipv4Address address) {
    return static_cast<std::uint32_t>(address);
}

std::string text(const Prefix& prefix) {
    const auto a = bits(prefix.address);
    return fmt::format("{}.{}.{}.{}/{}", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255, prefix.length);
}

Result<void> check(const Prefix& prefix) {
    if (prefix.length > 32) return failure(EINVAL, text(prefix) + ": an IPv4 prefix has at most 32 bits");
    const auto host_bits = prefix.length == 32 ? 0 : ~std::uint32_t{0} >> prefix.length;
    if ((bits(prefix.address) & host_bits) != 0) {
        return failure(EINVAL, text(prefix) + ": bits behind the prefix are set; give the network's address");
    }
    return {};
}

int apply(rte_fib* table, const Prefix& prefix, std::optional<NextHopTable::Index> next_hop) {
    if (!next_hop) return rte_fib_delete(table, bits(prefix.address), prefix.length);
    return rte_fib_add(table, bits(prefix.address), prefix.length, *next_hop);
}

}  // namespace

void Fib::Free::operator()(rte_fib* table) const {
    rte_fib_free(table);
}

Result<std::unique_ptr<Fib>> Fib::create(const Config& config, rte_rcu_qsbr& readers) {
    rte_fib_conf tables{};
    tables.type = RTE_FIB_DIR24_8;
    tables.default_nh = NextHopTable::unreachable;
    tables.max_routes = static_cast<int>(config.max_routes);
    tables.dir24_8.nh_sz = RTE_FIB_DIR24_8_2B;
    tables.dir24_8.num_tbl8 = config.max_long;
    const auto create_table = [&](const char* suffix) {
        return Table(rte_fib_create((config.name + suffix).c_str(), SOCKET_ID_ANY, &tables));
    };
    auto first = create_table(".a"), second = create_table(".b");
    if (!first || !second) {
        return failure(rte_errno, fmt::format("cannot create the route tables of {}: {}; they take 64 MB of EAL memory",
                                              config.name, rte_strerror(rte_errno)));
    }
    return std::unique_ptr<Fib>(new Fib(readers, std::move(first), std::move(second), config.max_next_hops));
}

Fib::Fib(rte_rcu_qsbr& readers, Table first, Table second, std::size_t max_next_hops)
    : readers_(readers),
      published_owner_(std::move(first)),
      idle_(std::move(second)),
      published_(published_owner_.get()),
      next_hops_(max_next_hops) {}

Fib::~Fib() = default;

Result<void> Fib::replace(const Prefix& prefix, const NextHop& next_hop) {
    if (auto valid = check(prefix); !valid) return valid;
    // First, because it makes the next-hop numbers that the last change freed available again.
    if (auto ready = catch_up(); !ready) return ready;
    const auto index = next_hops_.acquire(next_hop);
    if (!index) return failure(ENOSPC, text(prefix) + ": too many different next hops; the route is not used");
    if (auto done = publish({prefix, index}); !done) {
        next_hops_.release(*index);
        return done;
    }
    const auto [route, fresh] = routes_.try_emplace(prefix, *index);
    if (!fresh) next_hops_.release(std::exchange(route->second, *index));
    return {};
}

Result<void> Fib::remove(const Prefix& prefix) {
    const auto route = routes_.find(prefix);
    if (route == routes_.end()) return failure(ENOENT, text(prefix) + ": there is no route to remove");
    if (auto ready = catch_up(); !ready) return ready;
    if (auto done = publish({prefix, std::nullopt}); !done) return done;
    next_hops_.release(route->second);
    routes_.erase(route);
    return {};
}

Result<void> Fib::catch_up() {
    if (!behind_) return {};
    while (rte_rcu_qsbr_check(&readers_, grace_, false) == 0) std::this_thread::yield();
    // The change succeeded on the other table, which was equal to this one, so it should here.
    if (const int error = apply(idle_.get(), behind_->prefix, behind_->next_hop); error != 0) {
        return failure(-error, text(behind_->prefix) + ": the second route table refused what the first took");
    }
    behind_.reset();
    next_hops_.recycle();
    return {};
}

Result<void> Fib::publish(const Change& change) {
    if (const int error = apply(idle_.get(), change.prefix, change.next_hop); error != 0) {
        return failure(-error, fmt::format("{}: the route table is full ({}); the route is not used",
                                           text(change.prefix), rte_strerror(-error)));
    }
    std::swap(published_owner_, idle_);
    published_.store(published_owner_.get(), std::memory_order_release);
    grace_ = rte_rcu_qsbr_start(&readers_);
    behind_ = change;
    return {};
}

std::vector<Route> Fib::routes() const {
    std::vector<Route> out;
    out.reserve(routes_.size());
    for (const auto& [prefix, index] : routes_) out.push_back({prefix, next_hops_.at(index)});
    return out;
}

void Fib::lookup(std::span<const wire::Ipv4Address> destinations, std::span<NextHop> next_hops) const noexcept {
    constexpr std::size_t chunk = 64;
    std::array<std::uint32_t, chunk> addresses;
    std::array<std::uint64_t, chunk> indices;
    auto* const table = published_.load(std::memory_order_acquire);
    for (std::size_t at = 0; at < destinations.size(); at += chunk) {
        const auto part = destinations.subspan(at, std::min(chunk, destinations.size() - at));
        std::ranges::transform(part, addresses.begin(), bits);
        rte_fib_lookup_bulk(table, addresses.data(), indices.data(), static_cast<int>(part.size()));
        for (std::size_t i = 0; i < part.size(); ++i) {
            next_hops[at + i] = next_hops_.at(static_cast<NextHopTable::Index>(indices[i]));
        }
    }
}

}  // namespace verbline::forward

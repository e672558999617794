// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/resources.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>
#include <utility>

#include <dirent.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_memzone.h>
#include <rte_tailq.h>
#include <unistd.h>

#include <fmt/format.h>

// Tests that do not use DPDK do not link it either.
#pragma weak rte_eal_tailq_lookup
#pragma weak rte_mempool_in_use_count
#pragma weak rte_mempool_walk
#pragma weak rte_memzone_walk
#pragma weak rte_malloc_get_socket_stats

namespace verbline::test {
namespace {

std::string link_target(const std::string& path) {
    std::array<char, 4096> target;
    const auto size = readlink(path.c_str(), target.data(), target.size());
    return {target.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

std::string first_line(const std::string& path) {
    std::string line;
    std::getline(std::ifstream(path), line);
    return line;
}

/// Calls `use` with each entry of a directory whose names are numbers, but for the descriptor that reads it.
void each_number(const char* path, const std::function<void(int)>& use) {
    DIR* const directory = opendir(path);
    if (directory == nullptr) return;
    while (const auto* entry = readdir(directory)) {
        const auto number = std::atoi(entry->d_name);
        if (entry->d_name[0] != '.' && (number != dirfd(directory) || path != std::string("/proc/self/fd")))
            use(number);
    }
    closedir(directory);
}

void look_at_processes(Resources& now) {
    const std::string tasks = "/proc/self/task/";
    each_number(tasks.c_str(), [&](int thread) {
        const auto task = tasks + std::to_string(thread);
        now.threads[thread] = first_line(task + "/comm");
        std::istringstream children(first_line(task + "/children"));
        for (int child; children >> child;) {
            now.children[child] = first_line("/proc/" + std::to_string(child) + "/comm");
        }
    });
}

void look_at_dpdk(Resources& now) {
    if (std::getenv("VERBLINE_ENDS_DPDK") != nullptr) return;  // after rte_eal_cleanup() nothing of it can be asked
    if (rte_eal_tailq_lookup == nullptr || rte_eal_tailq_lookup("RTE_MEMPOOL") == nullptr) return;  // not initialized
    if (rte_mempool_walk != nullptr) {
        rte_mempool_walk(
            [](rte_mempool* pool, void* to) {
                static_cast<Resources*>(to)->pools[pool->name] = rte_mempool_in_use_count(pool);
            },
            &now);
    }
    if (rte_memzone_walk != nullptr) {
        rte_memzone_walk(
            [](const rte_memzone* zone, void* to) { static_cast<Resources*>(to)->zones[zone->name] = zone->len; },
            &now);
    }
    rte_malloc_socket_stats heap{};
    if (rte_malloc_get_socket_stats != nullptr && rte_malloc_get_socket_stats(0, &heap) == 0) {
        now.dpdk_allocations = heap.alloc_count;
    }
}

/// Whether an open file is the same one as at another look, under the same number.
bool in(const Resources& look, const std::pair<const int, std::string>& descriptor) {
    const auto found = look.descriptors.find(descriptor.first);
    return found != look.descriptors.end() && found->second == descriptor.second;
}

}  // namespace

Resources Resources::now() {
    Resources now;
    each_number("/proc/self/fd", [&](int descriptor) {
        // One that another thread closes meanwhile has no name any more.
        if (auto name = link_target("/proc/self/fd/" + std::to_string(descriptor)); !name.empty())
            now.descriptors[descriptor] = std::move(name);
    });
    look_at_processes(now);
    look_at_dpdk(now);
    now.network = link_target("/proc/thread-self/ns/net");
    now.directory = link_target("/proc/thread-self/cwd");
    return now;
}

void Resources::wait_a_moment() {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

Resources Resources::lasting(const Resources& known, const std::function<void()>& pause) {
    constexpr int looks = 5;
    auto found = now();
    const auto is_known = [&](const auto& descriptor) { return in(known, descriptor); };
    if (found.threads.size() == 1) return found;
    for (int look = 1; look < looks && !std::ranges::all_of(found.descriptors, is_known); ++look) {
        pause();
        const auto again = now();
        std::erase_if(found.descriptors, [&](const auto& descriptor) { return !in(again, descriptor); });
    }
    return found;
}

std::vector<std::string> Resources::leaked_since(const Resources& before) const {
    std::vector<std::string> leaks;
    const auto numbered = [&](const char* what, const std::map<int, std::string>& is, const auto& was,
                              const char* how) {
        for (const auto& [number, name] : is) {
            const auto old = was.find(number);
            if (old == was.end() || old->second != name)
                leaks.push_back(fmt::format("{} {} ({}){}", what, number, name, how));
        }
    };
    numbered("descriptor", descriptors, before.descriptors, "");
    numbered("descriptor", before.descriptors, descriptors, " was somebody else's, and is gone");
    numbered("thread", threads, before.threads, "");
    numbered("child process", children, before.children, "");
    for (const auto& [name, used] : pools) {
        const auto old = before.pools.find(name);
        const auto was = old == before.pools.end() ? 0 : old->second;
        if (used != was) leaks.push_back(fmt::format("mempool {}: {} objects in use, {} before", name, used, was));
    }
    for (const auto& [name, size] : zones) {
        if (!before.zones.contains(name)) leaks.push_back(fmt::format("memory zone {} of {} bytes", name, size));
    }
    if (dpdk_allocations > before.dpdk_allocations) {
        leaks.push_back(fmt::format("{} allocations of rte_malloc", dpdk_allocations - before.dpdk_allocations));
    }
    if (network != before.network) leaks.push_back("the network namespace " + network);
    if (directory != before.directory) leaks.push_back("the current directory " + directory);
    return leaks;
}

std::vector<std::string> Resources::settled_since(const Resources& before,
                                                  const std::function<bool(const std::string&)>& forgiven) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (;;) {
        auto leaks = now().leaked_since(before);
        std::erase_if(leaks, forgiven);
        if (leaks.empty() || std::chrono::steady_clock::now() > limit) return leaks;
        std::this_thread::yield();
    }
}

}  // namespace verbline::test

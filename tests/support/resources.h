// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a process holds that the kernel or DPDK would have back: two looks at it show what leaked between them.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace verbline::test {

struct Resources {
    std::map<int, std::string> descriptors;        ///< number to what it is, as /proc/self/fd shows it
    std::map<int, std::string> threads, children;  ///< id to name
    std::map<std::string, std::uint64_t> pools;    ///< mempool to objects in use
    std::map<std::string, std::uint64_t> zones;    ///< memory zones (rings, mempools, ports' queues) to bytes
    std::uint64_t dpdk_allocations = 0;            ///< by rte_malloc
    std::string network;                           ///< namespace of the calling thread
    std::string directory;                         ///< the current one

    static Resources now();
    /// The same, without the descriptors that another thread has open only for a moment, as one that looks again and
    /// again whether its peer is there yet: those that `known` does not have must be there at several looks. Waits by
    /// `pause` between two looks, and not at all where nothing new is open or this is the only thread.
    static Resources lasting(const Resources& known, const std::function<void()>& pause = wait_a_moment);

    /// One line for everything that is there in addition to, or in place of, what was there `before`.
    std::vector<std::string> leaked_since(const Resources& before) const;
    /// What is still there after a moment, in which other threads may let go of what they hold. No longer than needed.
    /// `forgiven`: leaks that count for nothing.
    static std::vector<std::string> settled_since(
        const Resources& before, const std::function<bool(const std::string&)>& forgiven = [](auto&) { return false; });

private:
    static void wait_a_moment();
};

}  // namespace verbline::test

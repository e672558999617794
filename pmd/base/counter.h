// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Counters with one writer and any number of readers, and the visitor by which they reach `verbline show`.
///
/// A counter's owner adds with a plain load and store (no locked instruction on the packet path); another thread may
/// read it at any time and sees some recent value.
///
/// A component lists its counters in one macro:
///
///     #define VERBLINE_TUN_COUNTERS(X)  X(rx_packets, "packets read from the kernel")  X(...) ...
///     struct TunCounters { VERBLINE_COUNTER_STRUCT(VERBLINE_TUN_COUNTERS) };
///
/// Names follow DPDK's xstats scheme: direction, detail, unit; each discard has its own name. A new counter is a line
/// in its component's list, `add` where it happens, and a test that sees it (tests/support/counter.h):
/// apps/EXTENDING.md.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace verbline {

class Counter {
public:
    Counter() = default;
    Counter(const Counter&) = delete;
    Counter& operator=(const Counter&) = delete;

    void add(std::uint64_t n = 1) {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// Called with (name, value, description) for each counter, on the control thread.
using CounterVisitor = std::function<void(std::string_view name, std::uint64_t value, std::string_view help)>;

#define VERBLINE_COUNTER_MEMBER(name, help) ::verbline::Counter name;
#define VERBLINE_COUNTER_VISIT(name, help) visit(#name, (name).value(), help);
#define VERBLINE_COUNTER_STRUCT(LIST)                          \
    LIST(VERBLINE_COUNTER_MEMBER)                              \
    void each(const ::verbline::CounterVisitor& visit) const { \
        LIST(VERBLINE_COUNTER_VISIT)                           \
    }

/// If a pure function returns a reason, the reasons are an enumeration and the caller counts by it:
///
///     VERBLINE_COUNTER_ENUM(Discard, VERBLINE_SOFT_IB_DISCARDS)
///     CountersBy<Discard> discards;    discards[reason].add();
struct CounterText {
    std::string_view name, help;
};

#define VERBLINE_COUNTER_ENUMERATOR(name, help) name,
#define VERBLINE_COUNTER_TEXT(name, help) ::verbline::CounterText{#name, help},
#define VERBLINE_COUNTER_ENUM(Type, LIST)                                 \
    enum class Type : std::uint8_t { LIST(VERBLINE_COUNTER_ENUMERATOR) }; \
    constexpr auto counter_texts(Type) {                                  \
        return std::array{LIST(VERBLINE_COUNTER_TEXT)};                   \
    }

template <class Reason>
class CountersBy {
public:
    Counter& operator[](Reason reason) { return counters_[static_cast<std::size_t>(reason)]; }
    const Counter& operator[](Reason reason) const { return counters_[static_cast<std::size_t>(reason)]; }
    void each(const CounterVisitor& visit) const {
        for (std::size_t i = 0; i < texts.size(); ++i) visit(texts[i].name, counters_[i].value(), texts[i].help);
    }

private:
    static constexpr auto texts = counter_texts(Reason{});
    std::array<Counter, texts.size()> counters_;
};

/// Sums of counters by name, over any number of owners. Owners may be destroyed once they have been added.
class CounterSums {
public:
    /// Returns a visitor that adds to the sums. It refers to `*this`, which must outlive it.
    CounterVisitor add() {
        return [this](std::string_view name, std::uint64_t value, std::string_view help) {
            auto sum = std::ranges::find(sums_, name, &Sum::name);
            if (sum == sums_.end()) sum = sums_.insert(sum, {std::string(name), 0, std::string(help)});
            sum->value += value;
        };
    }
    /// Visits the sums, in the order in which their names were first added.
    void each(const CounterVisitor& visit) const {
        for (const auto& sum : sums_) visit(sum.name, sum.value, sum.help);
    }

private:
    struct Sum {
        std::string name;
        std::uint64_t value;
        std::string help;
    };
    std::vector<Sum> sums_;
};

/// Visits the sums over a range of counter structs: a device keeps one per queue, so that each has one writer. `of`
/// maps an element of the range to its counters.
template <class Range, class Projection>
void visit_sums(const Range& range, const CounterVisitor& visit, Projection of) {
    CounterSums sums;
    for (const auto& element : range) of(element).each(sums.add());
    sums.each(visit);
}

}  // namespace verbline

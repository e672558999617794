// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/atomic_word.h"

#include <cstring>

namespace verbline::sim {

bool AtomicWord::done(std::uint64_t compare, std::uint64_t operand, std::uint64_t original) {
    pending_.erase(pending_.find({compare, operand}));
    seen_ = original;
    if (kind_ == Kind::swap && original != compare) {
        seen_all_.insert(original);
        return true;
    }
    const auto to = kind_ == Kind::sum ? original + operand : operand;
    seen_ = to;
    return steps_.emplace(original, to).second;
}

void AtomicWord::failed(std::uint64_t compare, std::uint64_t operand) {
    pending_.erase(pending_.find({compare, operand}));
    unknown_.insert({compare, operand});
}

std::uint64_t AtomicWord::load() const {
    std::uint64_t value = 0;
    std::memcpy(&value, block_.bytes.data(), sizeof(value));
    return value;
}

std::string AtomicWord::fault() const {
    if (!is_untouched(block_.bytes.subspan(sizeof(std::uint64_t)))) return "written to beside its eight bytes";
    return kind_ == Kind::sum ? sum_fault() : swap_fault();
}

std::string AtomicWord::sum_fault() const {
    std::uint64_t at = 0, missing = 0, possible = 0;
    for (const auto& request : unknown_) possible += request.second;
    for (const auto& [from, to] : steps_) {
        if (from < at) return "two additions saw overlapping values";
        missing += from - at;
        at = to;
    }
    if (load() < at) return "an addition is lost";
    missing += load() - at;
    if (missing > possible) return "more was added than asked for: one was executed twice";
    return unknown_.empty() && missing != 0 ? "the sum is wrong" : "";
}

std::string AtomicWord::swap_fault() const {
    // Each value is reached once, by the one request that swaps it in.
    std::set<std::uint64_t> reachable{0};
    for (bool grown = true; grown;) {
        grown = false;
        for (const auto& [from, to] : steps_) grown |= reachable.contains(from) && reachable.insert(to).second;
        for (const auto& [from, to] : unknown_) grown |= reachable.contains(from) && reachable.insert(to).second;
    }
    for (const auto& [from, to] : steps_) {
        if (!reachable.contains(from)) return "a swap succeeded on a value that was never there";
    }
    for (const auto value : seen_all_) {
        if (!reachable.contains(value)) return "a swap saw a value that was never there";
    }
    if (!reachable.contains(load())) return "it holds what nobody swapped in";
    return steps_.contains(load()) ? "a swap that succeeded is undone" : "";
}

}  // namespace verbline::sim

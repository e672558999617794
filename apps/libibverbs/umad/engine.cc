// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/engine.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "apps/libibverbs/umad/mad_class.h"
#include "datapath/wire/bytes.h"

namespace verbline::verbs {
namespace {

constexpr std::uint64_t low_half = 0xffff'ffff;
constexpr std::uint64_t tid_bits = 0xffff'ffff'ffff;  ///< those that come back: ibsim overwrites the upper 16
constexpr std::size_t tid_offset = 8;

wire::Rmpp rmpp_of(std::span<const std::byte> mad) {
    return wire::Rmpp::parse(mad.subspan(wire::rmpp_offset)).value_or(wire::Rmpp{});
}
bool is_active(const wire::Rmpp& rmpp) {
    return (rmpp.flags & wire::rmpp_flag::active) != 0;
}
/// What a far end whose RMPP is left to a kernel has sent without one: OpenSM on a simulator.
bool is_unsegmented(const wire::Rmpp& rmpp) {
    return rmpp.type == wire::RmppType::none;
}
bool uses_rmpp_here(const MadAgent& agent, wire::MadClass of) {
    return agent.registration.kernel_rmpp() && may_use_rmpp(of);
}

void move_requests(RequestTable::Actions& from, UmadEngine::Actions& to) {
    std::ranges::move(from.transmissions, std::back_inserter(to.transmissions));
    std::ranges::move(from.expired, std::back_inserter(to.arrivals));
}

}  // namespace

Result<std::uint32_t> UmadEngine::register_agent(FileId file, const Registration& registration) {
    const auto added = agents_.add(file, registration);
    if (!added) return std::unexpected(added.error());
    return (*added)->id;
}

void UmadEngine::forget(AgentTid agent) {
    requests_.remove(agent);
    std::erase_if(assemblies_, [&](const auto& each) { return std::get<AgentTid>(each.first) == agent; });
}

Result<void> UmadEngine::unregister_agent(FileId file, std::uint32_t id) {
    const auto removed = agents_.remove(file, id);
    if (!removed) return std::unexpected(removed.error());
    forget(removed->tid);
    return {};
}

void UmadEngine::close(FileId file) {
    for (std::uint32_t id = 0; id < AgentTable::most_in_a_file; ++id) std::ignore = unregister_agent(file, id);
}

Result<void> UmadEngine::write(FileId file, Outgoing message, Time now, Actions& out) {
    if (message.agent >= AgentTable::most_in_a_file) return failure(EINVAL, "agent");
    const auto* const agent = agents_.find(file, message.agent);
    if (agent == nullptr) return failure(EIO, "no such agent");
    auto header = wire::Mad::parse(message.mad);
    if (!header) return failure(EINVAL, "base version");
    const auto of = header->management_class;
    const bool segmented = uses_rmpp_here(*agent, of) && is_active(rmpp_of(message.mad));
    if (message.mad.size() < data_offset(of)) return failure(EINVAL, "shorter than the headers of its class");
    if (!segmented && message.mad.size() > wire::mad_size) return failure(EINVAL, "longer than a MAD");
    if (is_answer(*header)) {
        message.timeout_ms = segmented ? message.timeout_ms : 0;
    } else {
        header->transaction = std::uint64_t{std::to_underlying(agent->tid)} << 32 | (header->transaction & low_half);
        wire::store64(message.mad, tid_offset, header->transaction);
    }
    RequestKey key{.agent = agent->tid, .transaction = header->transaction, .management_class = of};
    if (is_answer(*header)) key.peer = message.to.lid;
    RequestTable::Actions actions;
    auto added = requests_.add(key, *agent, std::move(message), segmented, now, actions);
    move_requests(actions, out);
    return added;
}

RequestKey UmadEngine::key_of(const Received& arrival) {
    return {.agent = arrival.agent.tid,
            .transaction = arrival.header.transaction,
            .management_class = arrival.header.management_class};
}

bool UmadEngine::received(std::uint8_t qpn, const FarEnd& from, mad::MadBytes mad, std::size_t length, Time now,
                          Actions& out) {
    auto header = wire::Mad::parse(mad);
    if (!header) return false;
    mad::MadBuffer restored{};
    std::ranges::copy(mad, restored.begin());
    if (is_answer(*header)) {
        header->transaction &= tid_bits;
        wire::store64(restored, tid_offset, header->transaction);
    }
    const auto* const agent = agents_.recipient(*header, mad, qpn);
    if (agent == nullptr) return false;
    const Received arrival{.agent = *agent, .header = *header, .from = from, .now = now};
    const bool rmpp_class = may_use_rmpp(header->management_class);
    const auto rmpp = rmpp_class ? rmpp_of(restored) : wire::Rmpp{};
    if (uses_rmpp_here(*agent, header->management_class) && is_active(rmpp) && !is_unsegmented(rmpp)) {
        received_rmpp(arrival, restored, rmpp, out);
        return true;
    }
    const bool asked = !is_answer(*header) || requests_.answered(key_of(arrival));
    // A program that does RMPP itself gets every segment, of which its request knows the first only.
    if (!asked && !(rmpp_class && is_active(rmpp) && !agent->registration.kernel_rmpp())) return true;
    // A table that nobody has segmented is cut to one MAD, and of a shorter one the length is all that tells how many
    // records there are.
    const bool table = header->method == wire::MadMethod::get_table_response;
    const auto size = table ? std::max(length, wire::sa_data_offset) : restored.size();
    deliver(arrival, {restored.begin(), restored.begin() + static_cast<std::ptrdiff_t>(size)}, out);
    return true;
}

void UmadEngine::received_rmpp(const Received& arrival, mad::MadBytes mad, const wire::Rmpp& rmpp, Actions& out) {
    if (rmpp.type == wire::RmppType::data) return received_data(arrival, mad, rmpp, out);
    auto key = key_of(arrival);
    if (!is_answer(arrival.header)) key.peer = arrival.from.lid;  // what is acknowledged is an answer of ours
    RequestTable::Actions actions;
    requests_.acknowledged(key, rmpp, arrival.now, actions);
    move_requests(actions, out);
}

void UmadEngine::received_data(const Received& arrival, mad::MadBytes mad, const wire::Rmpp& rmpp, Actions& out) {
    const AssemblyKey key{arrival.agent.tid, arrival.header.transaction, arrival.header.management_class,
                          arrival.from.lid, arrival.from.route ? arrival.from.route->gid : wire::Gid{}};
    auto found = assemblies_.find(key);
    if (found == assemblies_.end()) {
        // Answers to nothing that was asked, and beginnings of more than there is room for.
        if (is_answer(arrival.header) && !requests_.contains(key_of(arrival))) return;
        if (assemblies_.size() >= most_assembled) return;
        found = assemblies_.emplace(key, Assembly{}).first;
    }
    auto& assembly = found->second;
    assembly.until = arrival.now + assembly_timeout;
    requests_.progressed(key_of(arrival), assembly.until);
    if (const auto ack = assembly.receiver.received(mad, rmpp)) {
        auto to = arrival.from;
        to.qkey = wire::gsi_qkey;
        out.transmissions.push_back({.qpn = 1, .to = to, .mad = *ack});
    }
    if (assembly.receiver.size() > longest_message) {
        assemblies_.erase(found);
        return;
    }
    if (assembly.done || !assembly.receiver.complete()) return;
    assembly.done = true;
    constexpr Time kept = 10 * second;  // for segments repeated because our acknowledgement was lost
    assembly.until = arrival.now + kept;
    if (is_answer(arrival.header) && !requests_.answered(key_of(arrival))) return;
    deliver(arrival, assembly.receiver.take(), out);
}

void UmadEngine::deliver(const Received& arrival, std::vector<std::byte> message, Actions& out) {
    out.arrivals.push_back({.file = arrival.agent.file,
                            .message = {.agent = arrival.agent.id, .from = arrival.from, .mad = std::move(message)}});
}

void UmadEngine::tick(Time now, Actions& out) {
    RequestTable::Actions actions;
    requests_.tick(now, actions);
    move_requests(actions, out);
    std::erase_if(assemblies_, [&](const auto& each) { return now >= each.second.until; });
}

std::optional<Time> UmadEngine::deadline() const {
    auto due = requests_.deadline();
    for (const auto& [key, assembly] : assemblies_) due = due ? std::min(*due, assembly.until) : assembly.until;
    return due;
}

}  // namespace verbline::verbs

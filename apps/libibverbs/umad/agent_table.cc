// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/agent_table.h"

#include <algorithm>
#include <cerrno>

#include "apps/libibverbs/umad/mad_class.h"
#include "datapath/wire/bytes.h"

namespace verbline::verbs {
namespace {

bool is(const MadAgent& agent, FileId file, std::uint32_t id) {
    return agent.file == file && agent.id == id;
}

std::uint32_t oui_of(std::span<const std::byte> mad) {
    return wire::load32(mad, oui_offset - 1) & 0xffffff;
}

}  // namespace

bool AgentTable::taken(const Registration& wanted) const {
    if (!wanted.management_class) return false;
    return std::ranges::any_of(agents_, [&](const MadAgent& agent) {
        const auto& other = agent.registration;
        return other.qpn == wanted.qpn && other.management_class == wanted.management_class &&
               other.class_version == wanted.class_version &&
               (!names_vendor(*wanted.management_class) || other.oui == wanted.oui) &&
               (other.methods & wanted.methods).any();
    });
}

std::optional<AgentTid> AgentTable::free_tid() {
    for (unsigned tries = 0; tries < UINT16_MAX; ++tries) {
        if (++last_tid_ == 0) ++last_tid_;
        const auto tid = AgentTid{last_tid_};
        if (std::ranges::find(agents_, tid, &MadAgent::tid) == agents_.end()) return tid;
    }
    return std::nullopt;
}

Result<const MadAgent*> AgentTable::add(FileId file, const Registration& registration) {
    std::uint32_t id = 0;
    while (id < most_in_a_file && find(file, id) != nullptr) ++id;
    if (id == most_in_a_file) return failure(ENOMEM, "too many agents");
    if (taken(registration)) return failure(EINVAL, "another agent has one of the methods");
    const auto tid = free_tid();
    if (!tid) return failure(ENOMEM, "too many agents");
    return &agents_.emplace_back(MadAgent{.file = file, .id = id, .tid = *tid, .registration = registration});
}

Result<MadAgent> AgentTable::remove(FileId file, std::uint32_t id) {
    const auto found = std::ranges::find_if(agents_, [&](const auto& agent) { return is(agent, file, id); });
    if (found == agents_.end()) return failure(EINVAL, "no such agent");
    const auto removed = *found;
    agents_.erase(found);
    return removed;
}

void AgentTable::remove_all(FileId file) {
    std::erase_if(agents_, [&](const MadAgent& agent) { return agent.file == file; });
}

const MadAgent* AgentTable::find(FileId file, std::uint32_t id) const {
    const auto found = std::ranges::find_if(agents_, [&](const auto& agent) { return is(agent, file, id); });
    return found != agents_.end() ? &*found : nullptr;
}

const MadAgent* AgentTable::recipient(const wire::Mad& header, std::span<const std::byte> mad, std::uint8_t qpn) const {
    const auto found = std::ranges::find_if(agents_, [&](const MadAgent& agent) {
        const auto& wanted = agent.registration;
        if (wanted.qpn != qpn) return false;
        if (is_answer(header)) return agent.tid == AgentTid{static_cast<std::uint16_t>(header.transaction >> 32)};
        return wanted.management_class == header.management_class && wanted.class_version == header.class_version &&
               wanted.methods[static_cast<std::uint8_t>(header.method) & 0x7f] &&
               (!names_vendor(header.management_class) || wanted.oui == oui_of(mad));
    });
    return found != agents_.end() ? &*found : nullptr;
}

bool AgentTable::serves() const {
    return std::ranges::any_of(agents_, [](const MadAgent& agent) {
        return agent.registration.qpn == 1 && agent.registration.management_class && agent.registration.methods.any();
    });
}

}  // namespace verbline::verbs

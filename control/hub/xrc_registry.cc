// SPDX-License-Identifier: BSD-3-Clause
#include "control/hub/xrc_registry.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "datapath/link/member.h"

namespace verbline::hub {
namespace {

std::unexpected<Refused> refuse(int code, const char* reason) {
    return std::unexpected(Refused{code, reason});
}

}  // namespace

auto XrcRegistry::open_domain(LaneId member, const File& file, const OpenXrcDomain& how) -> Answer<XrcDomainId> {
    const auto found = std::ranges::find(domains_, file, [](const auto& entry) { return entry.second.file; });
    if (found != domains_.end()) {
        if (how.exclusive) return refuse(EINVAL, "the XRC domain exists, and is to be exclusive");
        if (!found->second.members.contains(member) && domains(member) >= max_domains) {
            return refuse(ENOMEM, "this program has too many XRC domains");
        }
        found->second.members.insert(member);
        return found->first;
    }
    if (!how.create) return refuse(EAGAIN, "the XRC domain does not exist, and is not to be created");
    if (domains(member) >= max_domains) return refuse(ENOMEM, "this program has too many XRC domains");
    do {
        ++last_domain_;
    } while (last_domain_ == 0 || domains_.contains(XrcDomainId{last_domain_}));
    domains_[XrcDomainId{last_domain_}] = {.file = file, .members = {member}};
    return XrcDomainId{last_domain_};
}

auto XrcRegistry::close_domain(LaneId member, XrcDomainId domain) -> Answer<std::vector<XrcTarget>> {
    if (!has_open(member, domain)) return refuse(EINVAL, "this program has no such XRC domain");
    for (auto& [qpn, target] : targets_)
        if (target.shown.domain == domain) target.handles.erase(member);
    auto gone = erase_without_handles();
    auto& members = domains_.at(domain).members;
    members.erase(member);
    if (members.empty()) domains_.erase(domain);
    return gone;
}

auto XrcRegistry::create(LaneId member, XrcDomainId domain) -> Answer<wire::Qpn> {
    if (!has_open(member, domain)) return refuse(EINVAL, "this program has no such XRC domain");
    if (handles(member) >= max_targets) return refuse(ENOMEM, "this program has too many XRC targets");
    for (std::uint32_t tried = 0; tried < link::shared_targets; ++tried) {
        last_target_ = (last_target_ + 1) % link::shared_targets;
        const wire::Qpn qpn{link::own_queue_pairs + last_target_};
        if (targets_.contains(qpn)) continue;
        targets_[qpn] = {.shown = {.domain = domain, .qpn = qpn}, .handles = {{member, 1}}};
        return qpn;
    }
    return refuse(ENOMEM, "the node has no number left for an XRC target");
}

auto XrcRegistry::open(LaneId member, const OpenXrcTarget& wanted) -> Answer<void> {
    const auto found = targets_.find(wanted.qpn);
    if (!has_open(member, wanted.domain) || found == targets_.end() || found->second.shown.domain != wanted.domain) {
        return refuse(EINVAL, "there is no XRC target of this number in the domain");
    }
    if (handles(member) >= max_targets) return refuse(ENOMEM, "this program has too many XRC targets");
    ++found->second.handles[member];
    return {};
}

auto XrcRegistry::close(LaneId member, wire::Qpn target) -> Answer<std::vector<XrcTarget>> {
    const auto found = targets_.find(target);
    if (found == targets_.end()) return refuse(EINVAL, "there is no such XRC target");
    auto& all = found->second.handles;
    const auto own = all.find(member);
    if (own == all.end()) return refuse(EINVAL, "this program has not opened the XRC target");
    if (--own->second == 0) all.erase(own);
    return erase_without_handles();
}

auto XrcRegistry::set(LaneId member, const XrcTarget& wanted) -> Answer<XrcTarget> {
    const auto found = targets_.find(wanted.qpn);
    if (found == targets_.end() || !found->second.handles.contains(member)) {
        return refuse(EINVAL, "this program has not opened the XRC target");
    }
    auto& shown = found->second.shown;
    if (wanted.domain != shown.domain || wanted.state == XrcTargetState::gone) {
        return refuse(EINVAL, "an XRC target stays in its domain, until it is closed");
    }
    const auto change = shown.change + 1;
    shown = wanted;
    shown.change = change;
    return shown;
}

std::optional<XrcTarget> XrcRegistry::fail(wire::Qpn target, wire::NakCode nak) {
    const auto found = targets_.find(target);
    if (found == targets_.end()) return std::nullopt;
    auto& shown = found->second.shown;
    shown.state = XrcTargetState::error;
    shown.failure = nak;
    ++shown.change;
    return shown;
}

std::vector<XrcTarget> XrcRegistry::leave(LaneId member) {
    for (auto& [qpn, target] : targets_) target.handles.erase(member);
    auto gone = erase_without_handles();
    for (auto& [id, domain] : domains_) domain.members.erase(member);
    std::erase_if(domains_, [](const auto& entry) { return entry.second.members.empty(); });
    return gone;
}

std::vector<XrcTarget> XrcRegistry::erase_without_handles() {
    std::vector<XrcTarget> gone;
    for (auto entry = targets_.begin(); entry != targets_.end();) {
        auto& target = entry->second;
        if (!target.handles.empty()) {
            ++entry;
            continue;
        }
        target.shown.state = XrcTargetState::gone;
        ++target.shown.change;
        gone.push_back(target.shown);
        entry = targets_.erase(entry);
    }
    return gone;
}

const XrcTarget* XrcRegistry::find(wire::Qpn target) const {
    const auto found = targets_.find(target);
    return found != targets_.end() ? &found->second.shown : nullptr;
}

std::set<LaneId> XrcRegistry::members(XrcDomainId domain) const {
    const auto found = domains_.find(domain);
    return found != domains_.end() ? found->second.members : std::set<LaneId>{};
}

std::vector<XrcTarget> XrcRegistry::targets(XrcDomainId domain) const {
    std::vector<XrcTarget> all;
    for (const auto& [qpn, target] : targets_)
        if (target.shown.domain == domain) all.push_back(target.shown);
    return all;
}

std::vector<XrcTarget> XrcRegistry::targets() const {
    std::vector<XrcTarget> all;
    for (const auto& [qpn, target] : targets_) all.push_back(target.shown);
    return all;
}

std::vector<LaneId> XrcRegistry::openers(wire::Qpn target) const {
    std::vector<LaneId> all;
    const auto found = targets_.find(target);
    if (found == targets_.end()) return all;
    for (const auto& [member, handles] : found->second.handles) all.push_back(member);
    return all;
}

std::size_t XrcRegistry::domains(LaneId member) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(domains_, [&](const auto& entry) { return entry.second.members.contains(member); }));
}

bool XrcRegistry::has_open(LaneId member, XrcDomainId domain) const {
    const auto found = domains_.find(domain);
    return found != domains_.end() && found->second.members.contains(member);
}

std::size_t XrcRegistry::handles(LaneId member) const {
    std::size_t sum = 0;
    for (const auto& [qpn, target] : targets_)
        if (const auto own = target.handles.find(member); own != target.handles.end()) sum += own->second;
    return sum;
}

}  // namespace verbline::hub

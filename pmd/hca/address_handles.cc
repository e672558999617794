// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/hca/address_handles.h"

#include <cstring>
#include <utility>

namespace verbline::pmd::hca {
namespace {

constexpr std::uint8_t usual_hop_limit = 64;  ///< of IP, under RoCE v2, where none is given

}  // namespace

std::size_t AddressHandles::Hash::operator()(const wire::AddressHandle& to) const noexcept {
    constexpr std::uint64_t multiplier = 0x9e37'79b9'7f4a'7c15;  // 2^64 by the golden ratio (Knuth, 6.4)
    auto hash = static_cast<std::uint64_t>(to.dlid) << 8 | to.sl;
    hash = (hash ^ static_cast<std::uint64_t>(to.dgid.interface_id())) * multiplier;
    return static_cast<std::size_t>((hash ^ to.dgid.prefix()) * multiplier);
}

ibv_ah* AddressHandles::find(const wire::AddressHandle& to, std::uint64_t request, std::uint64_t complete) {
    // A burst is mostly for one destination.
    if (entries_.empty() || entries_.front().to != to) {
        if (const auto known = by_address_.find(to); known != by_address_.end()) {
            entries_.splice(entries_.begin(), entries_, known->second);
        } else {
            auto handle = create(to);
            if (!handle) return nullptr;
            if (entries_.size() == capacity_) evict(complete);
            entries_.push_front({.to = to, .handle = std::move(handle)});
            by_address_.emplace(to, entries_.begin());
        }
    }
    entries_.front().last_request = request;
    return entries_.front().handle.get();
}

void AddressHandles::evict(std::uint64_t complete) {
    std::erase_if(retiring_, [&](const Entry& entry) { return entry.last_request < complete; });
    auto& last = entries_.back();
    by_address_.erase(last.to);
    if (last.last_request >= complete) retiring_.push_back(std::move(last));
    entries_.pop_back();
}

Owned<ibv_ah> AddressHandles::create(const wire::AddressHandle& to) const {
    ibv_ah_attr attributes{};
    attributes.dlid = static_cast<std::uint16_t>(to.dlid);
    attributes.sl = to.sl;
    attributes.port_num = port_;
    attributes.is_global = to.global || ethernet_ ? 1 : 0;
    if (attributes.is_global != 0) {
        std::memcpy(attributes.grh.dgid.raw, to.dgid.bytes.data(), to.dgid.bytes.size());
        attributes.grh.flow_label = to.flow_label;
        attributes.grh.sgid_index = gid_index_;
        attributes.grh.hop_limit = ethernet_ && to.hop_limit == 0 ? usual_hop_limit : to.hop_limit;
        attributes.grh.traffic_class = to.traffic_class;
    }
    return {verbs_.create_ah(&domain_, &attributes), {verbs_.destroy_ah}};
}

void AddressHandles::reset(const PortFacts& facts) {
    by_address_.clear();
    entries_.clear();
    retiring_.clear();
    ethernet_ = facts.ethernet;
    gid_index_ = facts.gid_index;
}

}  // namespace verbline::pmd::hca

// SPDX-License-Identifier: BSD-3-Clause
// Rules by which an adapter gives a queue pair packets of a number that it shares with the kernel's interface.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "tests/pmd/hca/fake_objects.h"

namespace verbline::test {
namespace {

constexpr std::size_t before_ip = 4;

bool equal_under(const void* mask, const void* wanted, const std::byte* found, std::size_t size) {
    const auto* const masks = static_cast<const std::byte*>(mask);
    const auto* const values = static_cast<const std::byte*>(wanted);
    for (std::size_t i = 0; i < size; ++i) {
        if ((found[i] & masks[i]) != (values[i] & masks[i])) return false;
    }
    return true;
}

/// Which transport a part names; none if it names none.
unsigned protocol_of(ibv_flow_spec_type type) {
    return type == IBV_FLOW_SPEC_TCP ? 6 : type == IBV_FLOW_SPEC_UDP ? 17 : 0;
}

/// Whether one part of a rule has the packet.
bool has(const ibv_flow_spec& part, std::span<const std::byte> ip) {
    const auto version = std::to_integer<unsigned>(ip[0]) >> 4;
    const auto protocol = std::to_integer<unsigned>(ip[version == 4 ? 9 : 6]);
    switch (part.hdr.type) {
        case IBV_FLOW_SPEC_IPV4:
            return version == 4 && equal_under(&part.ipv4.mask.dst_ip, &part.ipv4.val.dst_ip, ip.data() + 16, 4);
        case IBV_FLOW_SPEC_IPV6:
            return version == 6 && equal_under(part.ipv6.mask.dst_ip, part.ipv6.val.dst_ip, ip.data() + 24, 16);
        default: return protocol == protocol_of(part.hdr.type);
    }
}

/// Calls `visit` with each part of a rule, as long as it returns true; what it returned last.
template <class Visit>
bool all_parts(const ByteVector& rule, Visit visit) {
    ibv_flow_attr attributes;
    std::memcpy(&attributes, rule.data(), sizeof attributes);
    auto at = sizeof attributes;
    for (unsigned i = 0; i < attributes.num_of_specs; ++i) {
        ibv_flow_spec part{};
        std::memcpy(&part.hdr, rule.data() + at, sizeof part.hdr);
        std::memcpy(&part, rule.data() + at, part.hdr.size);
        at += part.hdr.size;
        if (!visit(part)) return false;
    }
    return at == attributes.size;
}

bool is_of_multicast(const ByteVector& rule) {
    return all_parts(rule, [](const ibv_flow_spec& part) {
        std::uint8_t first = 0;
        std::memcpy(&first, &part.ipv4.val.dst_ip, 1);
        return part.hdr.type == IBV_FLOW_SPEC_IPV4 && first >> 4 == 0xe;
    });
}

}  // namespace

/// A rule names the shared number too, unless it begins with a group of IPv4.
bool takes(const FakeQueuePair& queue_pair, const FakeDatagram& datagram) {
    const auto ip = std::span<const std::byte>(datagram.payload).subspan(before_ip);
    return std::ranges::any_of(queue_pair.rules, [&](const auto& rule) {
        if (!is_of_multicast(rule->request) && datagram.destination != queue_pair.shared_number) return false;
        return all_parts(rule->request, [&](const ibv_flow_spec& part) { return has(part, ip); });
    });
}

struct FakeFlowCalls {
    static ibv_flow* create(ibv_qp* shown, ibv_flow_attr* wanted) {
        auto& all = *adapters_of_the_test();
        auto& queue_pair =
            **std::ranges::find_if(all.queue_pairs_, [&](const auto& each) { return &each->queue_pair == shown; });
        const auto& device = *queue_pair.context->device;
        if (device.flow_error != 0) return set_library_errno(device.flow_error), nullptr;
        auto made = std::make_unique<FakeRule>();
        made->flow.context = shown->context;
        const auto* const bytes = reinterpret_cast<const std::byte*>(wanted);
        made->request.assign(bytes, bytes + wanted->size);
        if (!all_parts(made->request, [](const auto&) { return true; })) return set_library_errno(EINVAL), nullptr;
        queue_pair.rules.push_back(std::move(made));
        return &queue_pair.rules.back()->flow;
    }
    static int destroy(ibv_flow* flow) {
        for (const auto& each : adapters_of_the_test()->queue_pairs_)
            std::erase_if(each->rules, [&](const auto& rule) { return &rule->flow == flow; });
        return 0;
    }
};

void add_flow_calls(verbs_context& context) {
    context.ibv_create_flow = FakeFlowCalls::create;
    context.ibv_destroy_flow = FakeFlowCalls::destroy;
}

std::size_t FakeAdapters::rules() const {
    std::size_t count = 0;
    for (const auto& each : queue_pairs_) count += each->rules.size();
    return count;
}

}  // namespace verbline::test

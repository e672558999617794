// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/ethdev/ethdev_flows.h"

#include <array>
#include <cerrno>
#include <numeric>

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_flow.h>

#include <fmt/format.h>

#include "datapath/wire/udp.h"
#include "pmd/ethdev/bth_item.h"

namespace verbline::pmd {
namespace {

/// A rule as DPDK has it. Its parts refer to each other.
class DpdkRule {
public:
    explicit DpdkRule(const FlowRule& rule) {
        attributes_.group = rule.group, attributes_.ingress = 1;
        udp_.hdr.dst_port = rte_cpu_to_be_16(wire::roce_v2_port), udp_mask_.hdr.dst_port = 0xffff;
        pattern_ = {item(RTE_FLOW_ITEM_TYPE_ETH), item(rule.ipv6 ? RTE_FLOW_ITEM_TYPE_IPV6 : RTE_FLOW_ITEM_TYPE_IPV4),
                    item(RTE_FLOW_ITEM_TYPE_UDP, &udp_, &udp_mask_)};
        if (rule.qpns) pattern_.push_back(bth_.item(rule.qpns->value, rule.qpns->mask));
        pattern_.push_back(item(RTE_FLOW_ITEM_TYPE_END));
        std::visit([&](const auto& action) { set(action, rule.ipv6); }, rule.action);
    }
    DpdkRule(const DpdkRule&) = delete;
    DpdkRule& operator=(const DpdkRule&) = delete;

    const rte_flow_attr* attributes() const { return &attributes_; }
    const rte_flow_item* pattern() const { return pattern_.data(); }
    const rte_flow_action* actions() const { return actions_.data(); }

private:
    static rte_flow_item item(rte_flow_item_type type, const void* spec = nullptr, const void* mask = nullptr) {
        return {.type = type, .spec = spec, .last = nullptr, .mask = mask};
    }
    void act(rte_flow_action_type type, const void* configuration) {
        actions_ = {rte_flow_action{.type = type, .conf = configuration},
                    rte_flow_action{.type = RTE_FLOW_ACTION_TYPE_END, .conf = nullptr}};
    }
    void set(const FlowRule::ToQueue& to, bool /*ipv6*/) {
        queue_.index = to.queue;
        act(RTE_FLOW_ACTION_TYPE_QUEUE, &queue_);
    }
    void set(const FlowRule::ToQueues& to, bool ipv6) {
        queues_.resize(to.queues);
        std::iota(queues_.begin(), queues_.end(), std::uint16_t{0});
        rss_.types = ipv6 ? RTE_ETH_RSS_NONFRAG_IPV6_UDP : RTE_ETH_RSS_NONFRAG_IPV4_UDP;
        rss_.queue_num = to.queues, rss_.queue = queues_.data();
        act(RTE_FLOW_ACTION_TYPE_RSS, &rss_);
    }
    void set(const FlowRule::ToGroup& to, bool /*ipv6*/) {
        jump_.group = to.group;
        act(RTE_FLOW_ACTION_TYPE_JUMP, &jump_);
    }

    rte_flow_attr attributes_{};
    rte_flow_item_udp udp_{}, udp_mask_{};
    BthItem bth_;
    std::vector<rte_flow_item> pattern_;
    rte_flow_action_queue queue_{};
    std::vector<std::uint16_t> queues_;
    rte_flow_action_rss rss_{};
    rte_flow_action_jump jump_{};
    std::array<rte_flow_action, 2> actions_{};
};

std::unexpected<Error> refused(int rc, const rte_flow_error& error) {
    return failure(-rc, error.message != nullptr ? error.message : rte_strerror(-rc));
}

}  // namespace

Result<std::unique_ptr<EthdevFlows>> EthdevFlows::of_port(const std::string& name) {
    std::uint16_t id = 0;
    if (rte_eth_dev_get_port_by_name(name.c_str(), &id) != 0)
        return failure(ENODEV, fmt::format("{} is no port of DPDK, which alone have rules", name));
    return std::unique_ptr<EthdevFlows>(new EthdevFlows(id));
}

bool EthdevFlows::knows_qpns() const {
    return BthItem::known;
}

Result<void> EthdevFlows::validate(const FlowRule& rule) {
    const DpdkRule made(rule);
    rte_flow_error error{};
    const int rc = rte_flow_validate(port_, made.attributes(), made.pattern(), made.actions(), &error);
    if (rc != 0) return refused(rc, error);
    return {};
}

Result<void> EthdevFlows::create(const FlowRule& rule) {
    const DpdkRule made(rule);
    rte_flow_error error{};
    auto* const flow = rte_flow_create(port_, made.attributes(), made.pattern(), made.actions(), &error);
    if (flow == nullptr) return refused(-rte_errno, error);
    rules_.push_back(flow);
    return {};
}

void EthdevFlows::clear() {
    rte_flow_error error{};
    for (auto* const flow : rules_) (void)rte_flow_destroy(port_, flow, &error);
    rules_.clear();
}

}  // namespace verbline::pmd

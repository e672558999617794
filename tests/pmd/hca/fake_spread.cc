// SPDX-License-Identifier: BSD-3-Clause
// How an adapter spreads datagrams over the work queues of a queue pair, and how a work queue fails.
#include <array>
#include <span>

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_thash.h>

#include "tests/pmd/hca/fake_objects.h"

namespace verbline::test {
namespace {

constexpr std::size_t ipoib_header = 4;

/// Words of the packet from byte `at` on, as the hash takes them.
std::vector<std::uint32_t> words(const ByteVector& packet, std::size_t at, std::size_t size) {
    std::vector<std::uint32_t> out(size / 4);
    std::memcpy(out.data(), packet.data() + at, size);
    for (auto& word : out) word = rte_be_to_cpu_32(word);
    return out;
}

/// What of a packet is hashed: the addresses and ports whose fields are asked for; nothing: it belongs to no flow.
std::vector<std::uint32_t> hashed(const ByteVector& packet, std::uint64_t fields) {
    if (packet.size() < ipoib_header + 60) return {};
    const bool ipv4 = std::to_integer<unsigned>(packet[ipoib_header]) >> 4 == 4;
    const bool ipv6 = std::to_integer<unsigned>(packet[ipoib_header]) >> 4 == 6;
    const auto addresses = ipv4 ? unsigned{IBV_RX_HASH_SRC_IPV4} : unsigned{IBV_RX_HASH_SRC_IPV6};
    if ((!ipv4 && !ipv6) || (fields & addresses) == 0) return {};
    auto tuple = ipv4 ? words(packet, ipoib_header + 12, 8) : words(packet, ipoib_header + 8, 32);
    const auto protocol = std::to_integer<unsigned>(packet[ipoib_header + (ipv4 ? 9 : 6)]);
    const auto ports = protocol == 6    ? unsigned{IBV_RX_HASH_SRC_PORT_TCP}
                       : protocol == 17 ? unsigned{IBV_RX_HASH_SRC_PORT_UDP}
                                        : 0u;
    if ((fields & ports) != 0) tuple.push_back(words(packet, ipoib_header + (ipv4 ? 20 : 40), 4)[0]);
    return tuple;
}

}  // namespace

FakeWorkQueue& work_queue_of(const FakeQueuePair& queue_pair, const ByteVector& packet) {
    auto tuple = hashed(packet, queue_pair.hash_fields);
    const auto hash =
        tuple.empty() ? 0 : rte_softrss(tuple.data(), static_cast<std::uint32_t>(tuple.size()), queue_pair.key.data());
    return *queue_pair.spread[hash % queue_pair.spread.size()];
}

void FakeAdapters::fail(FakeWorkQueue& queue, ibv_wc_status status, std::uint64_t request) {
    queue.queue.state = IBV_WQS_ERR;
    const auto end = [&](std::uint64_t number, ibv_wc_status how) {
        ibv_wc completion{};
        completion.wr_id = number;
        completion.status = how;
        complete(*queue.completions, completion);
    };
    end(request, status);
    for (const auto& each : std::exchange(queue.posted, {})) end(each.number, IBV_WC_WR_FLUSH_ERR);
}

void FakeAdapters::break_work_queue(const FakeDevice& device, std::size_t index, ibv_wc_status status) {
    for (const auto& each : work_queues_) {
        if (each->context->device != &device || index-- > 0) continue;
        const auto first = each->posted.front().number;
        each->posted.pop_front();
        return fail(*each, status, first);
    }
}

std::vector<std::size_t> FakeAdapters::posted_to_work_queues(const FakeDevice& device) const {
    std::vector<std::size_t> posted;
    for (const auto& each : work_queues_) {
        if (each->context->device == &device) posted.push_back(each->posted.size());
    }
    return posted;
}

}  // namespace verbline::test

// SPDX-License-Identifier: BSD-3-Clause
// Datagrams by pmd/hca, and by the loop that a program of libibverbs has for the same: 32 are sent as one chain, of
// which the last is signalled, received, and their buffers posted again. The adapter copies and completes
// (loop_adapter.h), so what it costs is in both.
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <rte_mbuf.h>

#include <benchmark/benchmark.h>

#include "bench/support/eal.h"
#include "bench/support/loop_adapter.h"
#include "pmd/hca/hca.h"
#include "pmd/hca/library.h"

namespace {

using namespace verbline;

constexpr std::size_t burst_size = 32;

void Device(benchmark::State& state) {
    const auto made = pmd::Hca::create(
        {.device = "loop0", .library = bench::LoopAdapter::library(VERBLINE_STAND_IN_LIBRARY)}, bench::packet_pool());
    if (!made || !(*made)->up() || (*made)->set_identity({})) return state.SkipWithError("no device");
    auto& device = **made;
    const auto size = static_cast<std::uint16_t>(state.range(0));
    const wire::AddressHandle to{.dlid = wire::Lid{1}};
    std::array<rte_mbuf*, burst_size> packets;
    std::array<pmd::Datagram, burst_size> datagrams;
    std::int64_t count = 0;
    for (auto _ : state) {
        if (rte_pktmbuf_alloc_bulk(bench::packet_pool(), packets.data(), packets.size()) != 0) break;
        for (std::size_t i = 0; i < burst_size; ++i) {
            rte_pktmbuf_append(packets[i], size);
            datagrams[i] = {packets[i], &to, wire::Qpn{2}, wire::QKey{}};
        }
        device.send(0, datagrams);
        const auto received = device.rx_burst(0, packets);
        rte_pktmbuf_free_bulk(packets.data(), received);
        count += received;
    }
    state.SetItemsProcessed(count);
}
BENCHMARK(Device)->Name("hca_device")->ArgName("bytes")->Arg(256)->Arg(2048);

/// As bare as a program can be: buffers of its own, one region, one address handle.
class BareLoop {
public:
    explicit BareLoop(std::uint32_t size) : size_(size), buffers_((depth + burst_size) * buffer) {
        int count = 0;
        context_ = verbs_.open_device(verbs_.get_device_list(&count)[0]);
        domain_ = verbs_.alloc_pd(context_);
        region_ = verbs_.reg_mr(domain_, buffers_.data(), buffers_.size(), IBV_ACCESS_LOCAL_WRITE);
        sent_ = verbs_.create_cq(context_, depth, nullptr, nullptr, 0);
        received_ = verbs_.create_cq(context_, depth, nullptr, nullptr, 0);
        ibv_qp_init_attr wanted{};
        wanted.send_cq = sent_;
        wanted.recv_cq = received_;
        wanted.cap = {.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1, .max_recv_sge = 1};
        wanted.qp_type = IBV_QPT_UD;
        pair_ = verbs_.create_qp(domain_, &wanted);
        ibv_ah_attr to{};
        handle_ = verbs_.create_ah(domain_, &to);
        for (std::uint64_t i = 0; i < depth; ++i) {
            numbers_[i % burst_size] = i;
            if (i % burst_size == burst_size - 1) post(burst_size);
        }
    }
    ~BareLoop() {
        verbs_.destroy_ah(handle_);
        verbs_.destroy_qp(pair_);
        verbs_.destroy_cq(sent_);
        verbs_.destroy_cq(received_);
        verbs_.dereg_mr(region_);
        verbs_.dealloc_pd(domain_);
    }

    int turn() {
        std::array<ibv_send_wr, burst_size> requests;
        std::array<ibv_sge, burst_size> pieces;
        for (std::size_t i = 0; i < burst_size; ++i) {
            pieces[i] = {.addr = at(depth + i), .length = size_, .lkey = region_->lkey};
            requests[i].wr_id = i;
            requests[i].next = i + 1 < burst_size ? &requests[i + 1] : nullptr;
            requests[i].sg_list = &pieces[i];
            requests[i].num_sge = 1;
            requests[i].opcode = IBV_WR_SEND;
            requests[i].send_flags = i + 1 < burst_size ? 0 : IBV_SEND_SIGNALED;
            requests[i].wr.ud = {.ah = handle_, .remote_qpn = 2, .remote_qkey = 0};
        }
        ibv_send_wr* refused = nullptr;
        pmd::hca::post_send(*pair_, requests[0], refused);
        std::array<ibv_wc, burst_size> completions;
        pmd::hca::poll(*sent_, burst_size, completions.data());
        const int count = pmd::hca::poll(*received_, burst_size, completions.data());
        for (int i = 0; i < count; ++i)
            numbers_[static_cast<std::size_t>(i)] = completions[static_cast<std::size_t>(i)].wr_id;
        if (count > 0) post(static_cast<std::size_t>(count));
        return count;
    }

private:
    static constexpr std::uint32_t depth = 1024, buffer = 2304;

    std::uintptr_t at(std::uint64_t number) const {
        return reinterpret_cast<std::uintptr_t>(&buffers_[number * buffer]);
    }
    void post(std::size_t count) {
        std::array<ibv_recv_wr, burst_size> requests;
        std::array<ibv_sge, burst_size> pieces;
        for (std::size_t i = 0; i < count; ++i) {
            pieces[i] = {.addr = at(numbers_[i]), .length = buffer, .lkey = region_->lkey};
            requests[i] = {numbers_[i], i + 1 < count ? &requests[i + 1] : nullptr, &pieces[i], 1};
        }
        ibv_recv_wr* refused = nullptr;
        pmd::hca::post_receive(*pair_, requests[0], refused);
    }

    const pmd::hca::Verbs& verbs_ = **pmd::hca::open_library(bench::LoopAdapter::library(VERBLINE_STAND_IN_LIBRARY));
    const std::uint32_t size_;
    std::vector<std::byte> buffers_;
    ibv_context* context_;
    ibv_pd* domain_;
    ibv_mr* region_;
    ibv_cq *sent_, *received_;
    ibv_qp* pair_;
    ibv_ah* handle_;
    std::array<std::uint64_t, burst_size> numbers_;
};

void Bare(benchmark::State& state) {
    BareLoop loop(static_cast<std::uint32_t>(state.range(0)));
    std::int64_t count = 0;
    for (auto _ : state) count += loop.turn();
    state.SetItemsProcessed(count);
}
BENCHMARK(Bare)->Name("bare_verbs")->ArgName("bytes")->Arg(256)->Arg(2048);

}  // namespace

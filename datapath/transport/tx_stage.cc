// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/tx_stage.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <rte_mbuf.h>

#include "datapath/link/transport_header.h"

namespace verbline::transport {
namespace {

wire::MutableBytes bytes_of(rte_mbuf& frame) {
    return {rte_pktmbuf_mtod(&frame, std::byte*), frame.data_len};
}

}  // namespace

TxStage::TxStage(pmd::NetDevice& device, std::uint16_t queue, rte_mempool& pool, RdmaCounters& counters)
    : device_(device), pool_(pool), counters_(counters), queue_(queue) {
    loopback_.reserve(stage_limit);
}

TxStage::~TxStage() {
    rte_pktmbuf_free(current_);
    for (const auto& written : std::span(written_).first(written_count_)) rte_pktmbuf_free(written.frame);
    rte_pktmbuf_free_bulk(cache_.data(), static_cast<unsigned>(cache_count_));
    rte_pktmbuf_free_bulk(staged_.data(), static_cast<unsigned>(staged_count_));
    rte_pktmbuf_free_bulk(loopback_.data(), static_cast<unsigned>(loopback_.size()));
}

rte_mbuf* TxStage::allocate(Use use) noexcept {
    if (cache_count_ <= for_answers) {
        // A bulk allocation is cheaper; from a nearly empty pool it fails, and single ones may succeed.
        const auto wanted = std::span(cache_).subspan(cache_count_);
        if (rte_pktmbuf_alloc_bulk(&pool_, wanted.data(), static_cast<unsigned>(wanted.size())) == 0) {
            cache_count_ = cached;
        } else if (auto* const last = rte_pktmbuf_alloc(&pool_)) {
            return last;
        } else if (use == Use::request || cache_count_ == 0) {
            return nullptr;
        }
    }
    return cache_[--cache_count_];
}

wire::MutableBytes TxStage::begin(const link::Envelope& envelope, std::size_t size, Use use) noexcept {
    if (full()) flush();
    if (!full() && loopback_.size() < stage_limit && current_ == nullptr) {
        current_ = allocate(use);
        if (current_ == nullptr) counters_.tx_stalled_no_mbuf.add();
    }
    if (full() || loopback_.size() >= stage_limit || current_ == nullptr) {
        refused_ = true;
        return {};
    }
    const std::size_t whole = envelope.size + size + link::trailer_size(envelope.carrier);
    current_->data_len = static_cast<std::uint16_t>(whole);
    current_->pkt_len = static_cast<std::uint32_t>(whole);
    return {rte_pktmbuf_mtod(current_, std::byte*) + envelope.size, size};
}

void TxStage::commit(const link::Envelope& envelope) noexcept {
    auto* const frame = std::exchange(current_, nullptr);
    link::write_headers(bytes_of(*frame), envelope, ip_id_++);
    if (source_) link::soft_ib::set_source(bytes_of(*frame), *source_);
    counters_.tx_packets.add();
    counters_.tx_bytes.add(frame->data_len);
    written_[written_count_++] = {frame, link::sealing_of(envelope)};
    written_bytes_ += frame->data_len;
    if (written_count_ == written_.size() || written_bytes_ >= sealed_at_once) seal_written();
}

void TxStage::seal_written() noexcept {
    const auto written = std::span(written_).first(std::exchange(written_count_, 0));
    written_bytes_ = 0;
    for (const auto& each : written) link::write_crcs(bytes_of(*each.frame), each.sealing);
    for (const auto& each : written) dispatch(each.frame);
}

void TxStage::dispatch(rte_mbuf* frame) noexcept {
    const auto bytes = bytes_of(*frame);
    const bool group = (bytes[0] & std::byte{1}) != std::byte{0};
    if (group) {
        // Loop a copy back; if no mbuf is free it is lost, as multicast may be.
        if (auto* const copy = rte_pktmbuf_copy(frame, &pool_, 0, UINT32_MAX)) loopback_.push_back(copy);
    }
    if (!is_to(bytes, address_) || (member_ && address_to_member(bytes))) return stage(frame);
    counters_.tx_loopback_packets.add();
    loopback_.push_back(frame);
}

/// Of a frame to the port's address: false if it is for ourselves. Else it gets the MAC addresses of both members.
bool TxStage::address_to_member(wire::MutableBytes frame) const noexcept {
    const auto at = link::transport_header_at(frame);
    if (!at) return false;
    const auto receiver = link::member_of(link::transport_header(frame, *at).get<&wire::Bth::dest>());
    if (receiver == *member_) return false;
    constexpr std::size_t source_at = 6;
    std::ranges::copy(link::mac_of(receiver).bytes, frame.begin());
    std::ranges::copy(link::mac_of(*member_).bytes, frame.begin() + source_at);
    return true;
}

void TxStage::stage(rte_mbuf* frame) noexcept {
    staged_[staged_count_++] = frame;
    if (staged_count_ == pmd::max_burst) offer();
}

void TxStage::flush() noexcept {
    seal_written();
    offer();
}

void TxStage::offer() noexcept {
    std::size_t sent = 0;
    do {
        const auto burst = pmd::Burst(staged_).subspan(sent, std::min(staged_count_ - sent, pmd::max_burst));
        const auto taken = device_.tx_burst(queue_, burst);
        sent += taken;
        if (taken < burst.size()) break;
    } while (sent < staged_count_);
    if (sent == 0) return;
    staged_count_ -= sent;
    std::copy_n(staged_.begin() + static_cast<std::ptrdiff_t>(sent), staged_count_, staged_.begin());
}

}  // namespace verbline::transport

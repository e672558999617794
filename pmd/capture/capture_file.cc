// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/capture/capture_file.h"

#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <fmt/format.h>

namespace verbline::pmd {
namespace {

constexpr std::uint16_t data_room = RTE_PKTMBUF_HEADROOM + 2304;
constexpr std::uint16_t soft_fabric_type = 0x88b5;  // InfiniBand packets behind an Ethernet header

/// Stands before the frame in its copy.
struct Record {
    Time time;
    CaptureFile::Source source;
    pcapng::Direction direction;
};

bool is_soft_fabric(const rte_mbuf& frame) {
    return frame.data_len >= sizeof(rte_ether_hdr) &&
           rte_pktmbuf_mtod(&frame, const rte_ether_hdr*)->ether_type == RTE_BE16(soft_fabric_type);
}

}  // namespace

Result<std::unique_ptr<CaptureFile>> CaptureFile::create(const std::string& path) {
    auto writer = pcapng::Writer::create(path);
    if (!writer) return std::unexpected(writer.error());
    std::unique_ptr<CaptureFile> file(new CaptureFile);
    file->writer_ = std::move(*writer);
    const auto name = fmt::format("capture-{}", fmt::ptr(file.get()));
    file->pool_ = rte_pktmbuf_pool_create(name.c_str(), 2 * ring_size - 1, 0, 0, data_room, SOCKET_ID_ANY);
    file->ring_ = rte_ring_create(name.c_str(), ring_size, SOCKET_ID_ANY, RING_F_SC_DEQ);
    if (file->pool_ == nullptr || file->ring_ == nullptr) {
        return failure(
            ENOMEM, fmt::format("capture file {}: {}; give DPDK more memory with -m", path, rte_strerror(rte_errno)));
    }
    return file;
}

CaptureFile::~CaptureFile() {
    while (ring_ != nullptr && rte_ring_count(ring_) > 0) std::ignore = drain();
    rte_ring_free(ring_);
    rte_mempool_free(pool_);
}

CaptureFile::Source CaptureFile::add_source(std::string name, Carries carries) {
    sources_.push_back({.name = std::move(name), .carries = carries, .frames = {}, .infiniband = {}});
    return Source{static_cast<std::uint16_t>(sources_.size() - 1)};
}

rte_mbuf* CaptureFile::copy(const rte_mbuf& packet) const {
    return rte_pktmbuf_copy(&packet, pool_, 0, UINT32_MAX);
}

bool CaptureFile::add(Source source, pcapng::Direction direction, Time time, rte_mbuf* copy) {
    const Record record{time, source, direction};
    std::memcpy(rte_pktmbuf_prepend(copy, sizeof(record)), &record, sizeof(record));
    if (rte_ring_enqueue(ring_, copy) == 0) return true;
    rte_pktmbuf_free(copy);
    return false;
}

Result<std::size_t> CaptureFile::drain() {
    std::size_t written = 0;
    while (written < ring_size) {
        std::array<void*, 64> copies;
        const auto n = rte_ring_dequeue_burst(ring_, copies.data(), copies.size(), nullptr);
        if (n == 0) break;
        for (auto* copy : std::span(copies).first(n)) {
            write(*static_cast<rte_mbuf*>(copy));
            rte_pktmbuf_free(static_cast<rte_mbuf*>(copy));
        }
        written += n;
    }
    if (written == 0) return 0;
    if (auto done = writer_->flush(); !done) return std::unexpected(done.error());
    return written;
}

void CaptureFile::write(rte_mbuf& copy) {
    Record record;
    std::memcpy(&record, rte_pktmbuf_mtod(&copy, const void*), sizeof(record));
    rte_pktmbuf_adj(&copy, sizeof(record));
    auto& source = sources_[static_cast<std::size_t>(record.source)];
    const bool infiniband = source.carries == Carries::ethernet && is_soft_fabric(copy);
    if (infiniband) rte_pktmbuf_adj(&copy, sizeof(rte_ether_hdr));
    auto& interface = infiniband ? source.infiniband : source.frames;
    if (!interface) {
        const auto type = infiniband                      ? pcapng::LinkType::infiniband
                          : source.carries == Carries::ip ? pcapng::LinkType::raw_ip
                                                          : pcapng::LinkType::ethernet;
        interface = writer_->add_interface(source.name, type);
    }
    pieces_.clear();
    for (const auto* segment = &copy; segment != nullptr; segment = segment->next) {
        pieces_.emplace_back(rte_pktmbuf_mtod(segment, const std::byte*), segment->data_len);
    }
    writer_->write(*interface, record.direction, record.time, pieces_);
}

}  // namespace verbline::pmd

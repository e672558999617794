// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One capture file for all devices of a process: shards put copies of frames into a ring, the control thread writes
/// them.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pmd/base/tunables.h"
#include "pmd/capture/pcapng.h"
#include "pmd/netdev.h"

struct rte_mempool;
struct rte_ring;

namespace verbline::pmd {

class CaptureFile {
public:
    enum class Source : std::uint16_t {};

    static constexpr unsigned ring_size =
        tunables::capture_ring;  ///< frames waiting to be written; more are dropped, and counted

    static Result<std::unique_ptr<CaptureFile>> create(const std::string& path);
    CaptureFile(const CaptureFile&) = delete;
    CaptureFile& operator=(const CaptureFile&) = delete;
    /// Writes what is waiting. The devices that add to it are gone by then.
    ~CaptureFile();

    /// Control thread: for packets that come from elsewhere than a device, such as MADs.
    pcapng::Writer& writer() { return *writer_; }
    /// Control thread: a device that will add frames.
    Source add_source(std::string name, Carries carries);

    /// Any thread: a copy of the packet for `add`; null when too many are waiting.
    rte_mbuf* copy(const rte_mbuf& packet) const;
    /// Any thread: takes a copy over. False (and it is freed) when too many are waiting.
    bool add(Source source, pcapng::Direction direction, Time time, rte_mbuf* copy);

    /// Control thread: writes frames that are waiting, at most a ring full. Returns how many; an error once the file
    /// cannot be written.
    Result<std::size_t> drain();

private:
    struct SourceState {
        std::string name;
        Carries carries;
        std::optional<pcapng::InterfaceId> frames, infiniband;  ///< each made when its first packet comes
    };

    CaptureFile() = default;
    void write(rte_mbuf& copy);

    std::unique_ptr<pcapng::Writer> writer_;
    rte_mempool* pool_ = nullptr;
    rte_ring* ring_ = nullptr;
    std::vector<SourceState> sources_;
    std::vector<pcapng::Bytes> pieces_;  ///< of the packet being written
};

}  // namespace verbline::pmd

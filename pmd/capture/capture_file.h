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
        tunables::capture_ring;  ///< frames waiting to be written; further ones are dropped and counted

    static Result<std::unique_ptr<CaptureFile>> create(const std::string& path);
    CaptureFile(const CaptureFile&) = delete;
    CaptureFile& operator=(const CaptureFile&) = delete;
    /// Writes the frames that are waiting. Devices that add to the file must be destroyed before.
    ~CaptureFile();

    /// Control thread: for packets that do not pass a device, such as MADs.
    pcapng::Writer& writer() { return *writer_; }
    /// Control thread: registers a device that will add frames.
    Source add_source(std::string name, Carries carries);

    /// Any thread: returns a copy of the packet for `add`, or null if too many are waiting.
    rte_mbuf* copy(const rte_mbuf& packet) const;
    /// Any thread: queues `copy` and takes ownership of it. False, and the copy freed, if too many are waiting.
    bool add(Source source, pcapng::Direction direction, Time time, rte_mbuf* copy);

    /// Control thread: writes waiting frames, at most one ring full, and returns how many. An error if the file cannot
    /// be written.
    Result<std::size_t> drain();

private:
    struct SourceState {
        std::string name;
        Carries carries;
        std::optional<pcapng::InterfaceId> frames, infiniband;  ///< each created with its first packet
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

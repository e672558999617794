// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port as its umad device serves it: the engine, its timer, what carries its MADs, and the open files.
///
///     program's threads ── register, write ──> UmadEngine ── transmissions, posted ──> MadCarrier: control thread
///     control thread ── received, timer ─────> UmadEngine ── arrivals ──> UmadFile ──> program's reads
///
/// Threads: any, except `start` and the destructor (control thread, or no thread is left). Nothing is called with the
/// mutex held.

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "apps/libibverbs/settings/settings.h"
#include "apps/libibverbs/umad/carrier.h"
#include "apps/libibverbs/umad/engine.h"
#include "apps/libibverbs/umad/open_file.h"
#include "apps/libibverbs/umad/queue_pair_carrier.h"
#include "control/loop/loop.h"

namespace verbline::verbs {

class UmadPort : public std::enable_shared_from_this<UmadPort> {
public:
    UmadPort(control::Loop& loop, bool infiniband) : loop_(loop), infiniband_(infiniband) {}
    UmadPort(const UmadPort&) = delete;
    UmadPort& operator=(const UmadPort&) = delete;

    /// Attaches to the fabric, if the link is one. `open` opens the verbs' port, when its QP1 is needed.
    Result<void> start(const Link& link, QueuePairCarrier::OpenPort open);
    /// Detaches: nothing is sent or received any more.
    void stop() { carrier_.reset(); }

    void add(const std::shared_ptr<UmadFile>& file);
    void remove(FileId file);

    /// EPROTONOSUPPORT: QP0 of an Ethernet port; otherwise as UmadEngine.
    Result<std::uint32_t> register_agent(FileId file, const Registration& registration);
    Result<void> unregister_agent(FileId file, std::uint32_t id);
    /// EINVAL: a destination without GRH on Ethernet; otherwise as UmadEngine.
    Result<void> write(FileId file, Outgoing message);

private:
    void serve();
    void received(std::uint8_t qpn, const FarEnd& from, mad::MadBytes mad, std::size_t length);
    void carry_out(UmadEngine::Actions actions);
    void complain_of_lost();
    void arm();
    void tick();

    control::Loop& loop_;
    const bool infiniband_;
    std::atomic<bool> complained_{false};
    std::mutex mutex_;  ///< of the two below
    UmadEngine engine_;
    std::map<FileId, std::shared_ptr<UmadFile>> files_;
    // The control thread's.
    std::unique_ptr<MadCarrier> carrier_;
    control::Timer timer_;
};

}  // namespace verbline::verbs

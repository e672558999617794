// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port of a fabric simulated by ibsim, by ibsim's own datagram protocol: real file descriptors, any number of hosts
/// in one process, no library to preload.
///
/// Hardware serves general services at QPN 1. ibsim delivers unsolicited MADs at QPN 1 only to subnet managers, but
/// those at a larger QPN to the client that connected with it; therefore the port's general services use `port().qpn`,
/// the only difference from hardware.
///
/// A killed process leaves its slot (of ten) occupied. Therefore ids and QPNs are allocated per host from the first
/// free one, so that a successor reuses its predecessor's QPN, and on attaching it sends itself a MAD there: ibsim
/// tries the dead client first, fails to write to it and frees the slot.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "control/loop/loop.h"
#include "control/mad/ibsim_protocol.h"
#include "control/mad/transport.h"

namespace verbline::mad {

class IbsimTransport final : public Transport {
public:
    /// Attaches to `host` of the fabric whose IBSIM_SOCKNAME is `fabric`.
    static Result<std::unique_ptr<IbsimTransport>> open(const std::string& fabric, const std::string& host,
                                                        control::Loop& loop);
    ~IbsimTransport() override;

    const std::string& spec() const override { return spec_; }
    void send(const MadAddress& to, MadBytes mad, Time reply_within) override;
    /// ibsim answers within some 50 us. If ibsim ends, the port goes down; we attach again when it restarts.
    void refresh() override;
    /// In the child of a fork, the only call allowed: closes the child's copies of the sockets, and leaves the place at
    /// the simulator to the parent.
    void abandon();

private:
    IbsimTransport(std::string fabric, std::string host, control::Loop& loop);

    Result<void> attach();
    void detach();
    Result<void> open_sockets();
    Result<void> take_name();
    Result<void> connect_slot();
    Result<void> look();
    Result<void> watch_sockets();
    void free_stale_slots();

    Result<ibsim::Control> ask(ibsim::Command command, std::span<const std::byte> data);
    void fabric_gone();
    Result<void> watch_data(bool writable);
    void read_control();
    void read_data();
    void write_queued();
    void take(const ibsim::Control& reply);
    bool push(const ibsim::Datagram::Bytes& bytes);

    const std::string fabric_, host_, spec_;
    control::Loop& loop_;
    int control_ = -1, data_ = -1;
    std::uint32_t id_ = 0;    ///< suffix of our socket names
    std::uint32_t slot_ = 0;  ///< ibsim's name for us
    control::Watch control_watch_, data_watch_;
    std::deque<ibsim::Datagram::Bytes> queue_;  ///< not yet written to ibsim's socket
    unsigned unanswered_ = 0;                   ///< outstanding control requests
    PortFacts seen_;                            ///< collected by the current refresh
    wire::Guid node_guid_{};
};

}  // namespace verbline::mad

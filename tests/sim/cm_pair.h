// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Two ends of one connection as values: everything that can happen to them next, and what becomes of them when
/// everybody behaves. What the explorer walks over.
///
///     side 0 asks ── at most two messages under way, in any order ──> side 1 listens, or asks as well (peers)
///            <── at most two ──
///
/// Each side has a clock of its own: timers run out whenever they like.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "control/cm/connection.h"
#include "tests/sim/cm_word.h"
#include "tests/sim/connection_explorer.h"

namespace verbline::sim {

struct CmPairSetup {
    bool peers = false;   ///< both ask
    bool paths = false;   ///< side 0 may propose an alternate path
    bool delays = false;  ///< users say that they need longer
    std::uint8_t retries = 1;
    unsigned births = 2;  ///< how often side 1 may take a REQ for a new one
};

class CmPair {
public:
    /// The MADs there are, each with a number in the order in which they were first sent.
    using Mads = std::unordered_map<mad::MadBuffer, std::size_t, cm::MadHash>;
    using Flight = const Mads::value_type*;

    CmPair(const CmPairSetup& setup, Mads& mads);
    CmPair(const CmPair& other);
    CmPair& operator=(const CmPair&) = delete;

    std::vector<CmPair> successors() const;
    std::uint64_t key() const;
    /// From now on nothing is lost, users answer and take what they get; false: it does not come to rest, or not in
    /// peace.
    bool settle();
    /// What has gone wrong; empty: nothing.
    const std::string& fault() const { return fault_; }
    std::string describe() const;

private:
    /// What a side's machine does: messages to the other one, and news for its user.
    class Doings final : public cm::ActionSink {
    public:
        Doings(CmPair& pair, unsigned side) : pair_(pair), side_(side) {}
        void send(const mad::GmpPeer&, const mad::MadBuffer& mad) override { pair_.put(side_, mad); }
        void emit(cm::EndpointEvent event) override { pair_.hear(side_, event); }
        void count(cm::Count) override {}
        bool claim(const cm::RemoteEnd&) override { return true; }

    private:
        CmPair& pair_;
        unsigned side_;
    };
    struct Side {
        std::optional<cm::Connection> connection;  ///< none: nobody has asked, or it is over and its user gone
        CmWord word{CmWord::Kind::active};
        bool user = false;      ///< there is one
        bool proposed = false;  ///< an alternate path, once
        bool proposal = false;  ///< of the peer, to be answered
        unsigned births = 0;
        Time now = second;
    };

    // cm_pair.cc
    cm::Request request(unsigned side) const;
    static wire::Gid gid_of(unsigned side) { return wire::Gid::of(0, wire::Guid{1 + side}); }
    /// As the network says who has sent to a side.
    static mad::GmpPeer peer_of(unsigned side) {
        return {.path = {.address = {.global = true, .dgid = gid_of(1 - side)}}};
    }
    void connect(unsigned side);
    void deliver(unsigned side, std::size_t at, bool again);
    void receive(unsigned side, const mad::MadBuffer& mad);
    void receive_req(unsigned side, const cm::ReceivedMessage& req);
    void take(unsigned side, const cm::ReceivedMessage& req);
    void receive_unknown(unsigned side, const cm::ReceivedMessage& message);
    void tick(unsigned side);
    void abandon(unsigned side);
    void put(unsigned from, const mad::MadBuffer& mad);
    void hear(unsigned side, const cm::EndpointEvent& event);
    void expect(bool promise, const char* what);
    void retire(Side& side);

    // cm_pair_users.cc
    template <class Act>
    void call(unsigned side, std::optional<CmWord::Said> said, const Act& act);
    void reply(unsigned side);
    void ready(unsigned side);
    void add_calls(unsigned side, std::vector<CmPair>& out) const;
    void add_network(unsigned side, std::vector<CmPair>& out) const;
    bool established(unsigned side) const;
    /// In `settle`: whether there was something to do.
    bool answer();
    bool run_network();
    bool run_clock();

    const CmPairSetup* setup_;
    Mads* mads_;
    std::array<Side, 2> sides_;
    std::array<std::vector<Flight>, 2> under_way_;  ///< to this side, in the order of their numbers
    bool calm_ = true;  ///< nothing was lost, and no timer ran out while something was under way
    std::string fault_;
};

}  // namespace verbline::sim

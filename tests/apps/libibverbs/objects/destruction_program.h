// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A program that makes verbs objects of every kind, uses them, and tries to destroy any of them at any time. What an
/// object was made from it holds by shared pointer: what is shared must be refused (EBUSY), everything else must go.

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>

#include "tests/sim/random.h"

namespace verbline::destruction {

/// How many of each kind.
using Counts = std::map<std::string_view, std::uint64_t>;

template <class Abi>
struct Object {
    Abi* abi = nullptr;
    std::vector<std::shared_ptr<void>> parts{};  ///< what it was made from
    unsigned unacknowledged = 0;                 ///< events that were read
    std::vector<ibv_async_event> told{};         ///< asynchronous ones, read and not acknowledged
    std::vector<std::byte> bytes{};              ///< of a memory region
};
template <class Abi>
using All = std::vector<std::shared_ptr<Object<Abi>>>;

class Program {
public:
    Program(ibv_device* device, sim::Random& random);

    void act();
    /// Everything in any order; with `closed_first`, what is left after the device has been closed.
    void destroy_all(bool closed_first);

    const Counts& destroyed() const { return destroyed_; }
    std::uint64_t refused() const { return refused_; }
    std::uint64_t completed() const { return completed_; }
    const std::string& fault() const { return fault_; }

private:
    static constexpr std::uint32_t block = 32768;  ///< bytes of a region

    void wrong(std::string what) {
        if (fault_.empty()) fault_ = std::move(what);
    }
    template <class Abi>
    std::shared_ptr<Object<Abi>> any(All<Abi>& all) {
        return all.empty() ? nullptr : all[random_.below(all.size())];
    }
    template <class Abi>
    std::shared_ptr<Object<Abi>> keep(All<Abi>& all, Abi* abi, std::vector<std::shared_ptr<void>> parts = {}) {
        if (abi == nullptr) throw std::runtime_error(std::string("an object cannot be made: ") + std::strerror(errno));
        return all.emplace_back(std::make_shared<Object<Abi>>(Object<Abi>{.abi = abi, .parts = std::move(parts)}));
    }
    /// Tries to destroy one of them.
    template <class Abi, class Destroy>
    void destroy(All<Abi>& all, std::string_view kind, Destroy&& with);
    void destroy_one();
    bool left() const;

    void make_one();
    std::shared_ptr<Object<ibv_pd>> domain();
    std::shared_ptr<Object<ibv_cq>> queue();
    std::shared_ptr<Object<ibv_xrcd>> xrc_domain();
    void make_region();
    void make_shared(bool xrc);
    std::shared_ptr<Object<ibv_qp>> make_pair(ibv_qp_type type);
    void make_connection();
    void connect(ibv_qp* qp, const ibv_qp* peer);
    ibv_ah_attr own_path();

    std::shared_ptr<Object<ibv_qp>> ready_pair();
    void post();
    void post_receives();
    void poll();
    void take_events();
    void change_state();
    ibv_sge piece(std::uint32_t most);

    sim::Random& random_;
    ibv_context* context_ = nullptr;
    All<ibv_pd> domains_, parents_;
    All<ibv_td> threads_;
    All<ibv_comp_channel> channels_;
    All<ibv_cq> queues_;
    All<ibv_xrcd> xrc_;
    All<ibv_srq> shared_;
    All<ibv_mr> regions_;
    All<ibv_mw> windows_;
    All<ibv_dm> device_memory_;
    All<ibv_ah> addresses_;
    All<ibv_qp> pairs_;
    std::vector<std::vector<std::byte>> dead_;  ///< memory whose region has gone
    std::uint64_t refused_ = 0, completed_ = 0;
    Counts destroyed_;
    std::string fault_;
};

}  // namespace verbline::destruction

// SPDX-License-Identifier: BSD-3-Clause
#include "tests/apps/libibverbs/objects/destruction_program.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <fcntl.h>

#include "tests/support/verbs_device.h"

// What a program makes and destroys; what it does with it is in destruction_use.cc.

namespace verbline::destruction {
namespace {

constexpr std::byte dead{0xdd};

void nonblocking(int descriptor) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

std::string_view name(ibv_qp_type type) {
    switch (type) {
        case IBV_QPT_RC: return "RC";
        case IBV_QPT_UC: return "UC";
        case IBV_QPT_UD: return "UD";
        case IBV_QPT_XRC_SEND: return "XRC initiator";
        default: return "XRC target's handle";
    }
}

}  // namespace

Program::Program(ibv_device* device, sim::Random& random) : random_(random), context_(ibv_open_device(device)) {
    if (context_ == nullptr) throw std::runtime_error(std::string("no device: ") + std::strerror(errno));
    nonblocking(context_->async_fd);
    for (int i = 0; i < 4; ++i) make_region(), make_connection();
    make_shared(false), make_shared(true);
}

std::shared_ptr<Object<ibv_pd>> Program::domain() {
    // Most are of one domain: objects of different ones have nothing to say to each other.
    if (!parents_.empty() && random_.chance(0.2)) return any(parents_);
    if (domains_.empty() || random_.chance(0.05)) return keep(domains_, ibv_alloc_pd(context_));
    return random_.chance(0.95) ? domains_.front() : any(domains_);
}

std::shared_ptr<Object<ibv_cq>> Program::queue() {
    if (!queues_.empty() && random_.chance(0.7)) return any(queues_);
    if (channels_.empty() || random_.chance(0.3)) {
        nonblocking(keep(channels_, ibv_create_comp_channel(context_))->abi->fd);
    }
    auto channel = any(channels_);
    auto* const made = ibv_create_cq(context_, 256, nullptr, channel->abi, 0);
    auto queue = keep(queues_, made, {channel});
    if (ibv_req_notify_cq(made, 0) != 0) wrong("a queue is not armed");
    return queue;
}

std::shared_ptr<Object<ibv_xrcd>> Program::xrc_domain() {
    if (!xrc_.empty() && random_.chance(0.95)) return xrc_.front();
    ibv_xrcd_init_attr how{.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
    return keep(xrc_, ibv_open_xrcd(context_, &how));
}

void Program::make_region() {
    auto pd = domain();
    if (random_.chance(0.2)) {
        ibv_alloc_dm_attr how{.length = block};
        if (device_memory_.empty() || random_.chance(0.3)) keep(device_memory_, ibv_alloc_dm(context_, &how));
        auto dm = any(device_memory_);
        auto* const region = ibv_reg_dm_mr(pd->abi, dm->abi, 0, block, test::all_access | IBV_ACCESS_ZERO_BASED);
        keep(regions_, region, {pd, dm});
        return;
    }
    std::vector<std::byte> bytes(block);
    auto* const region = ibv_reg_mr(pd->abi, bytes.data(), block, test::all_access);
    keep(regions_, region, {pd})->bytes = std::move(bytes);
}

void Program::make_shared(bool xrc) {
    auto pd = domain();
    ibv_srq_init_attr_ex how{.attr = {.max_wr = 16, .max_sge = 1},
                             .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
                             .srq_type = IBV_SRQT_BASIC,
                             .pd = pd->abi};
    std::vector<std::shared_ptr<void>> parts{pd};
    if (xrc) {
        auto cq = queue();
        auto xrcd = xrc_domain();
        how.srq_type = IBV_SRQT_XRC;
        how.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
        how.xrcd = xrcd->abi, how.cq = cq->abi;
        parts.insert(parts.end(), {cq, xrcd});
    }
    const auto made = keep(shared_, ibv_create_srq_ex(context_, &how), std::move(parts));
    ibv_srq_attr limit{.srq_limit = 8};
    if (random_.chance(0.5)) std::ignore = ibv_modify_srq(made->abi, &limit, IBV_SRQ_LIMIT);
}

void Program::make_one() {
    auto path = own_path();
    ibv_td_init_attr how{};
    switch (random_.below(9)) {
        case 0: domain(); return;
        case 1: queue(); return;
        case 2: make_shared(false); return;
        case 3: make_shared(true); return;
        case 4: {
            auto pd = domain();
            keep(windows_, ibv_alloc_mw(pd->abi, random_.chance(0.5) ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2), {pd});
            return;
        }
        case 5: {
            auto pd = domain();
            keep(addresses_, ibv_create_ah(pd->abi, &path), {pd});
            return;
        }
        case 6: {
            auto pd = domain();
            auto thread = keep(threads_, ibv_alloc_td(context_, &how));
            ibv_parent_domain_init_attr parent{.pd = pd->abi, .td = thread->abi};
            keep(parents_, ibv_alloc_parent_domain(context_, &parent), {pd, thread});
            return;
        }
        default: make_region();
    }
}

template <class Abi, class Destroy>
void Program::destroy(All<Abi>& all, std::string_view kind, Destroy&& with) {
    if (all.empty()) return;
    const auto chosen = all.begin() + static_cast<std::ptrdiff_t>(random_.below(all.size()));
    auto& object = **chosen;
    const bool busy = chosen->use_count() > 1;
    // Whoever has read events acknowledges them, while destroying waits for it.
    std::thread acknowledging;
    if (!busy && (object.unacknowledged != 0 || !object.told.empty())) {
        acknowledging = std::thread([&object] {
            std::this_thread::yield();
            for (auto& event : object.told) ibv_ack_async_event(&event);
            if constexpr (std::is_same_v<Abi, ibv_cq>) ibv_ack_cq_events(object.abi, object.unacknowledged);
        });
    }
    const int error = with(object);
    if (acknowledging.joinable()) acknowledging.join();
    // Windows may be bound to a region, without that we were told.
    const bool may_be_bound = std::is_same_v<Abi, ibv_mr> && !windows_.empty();
    if (error != (busy ? EBUSY : 0) && !(may_be_bound && error == EBUSY)) {
        wrong(std::string(kind) + (busy ? " in use" : " not in use") + " is destroyed with " + std::strerror(error));
    }
    if (error != 0) return void(++refused_);
    ++destroyed_[kind];
    if constexpr (std::is_same_v<Abi, ibv_mr>) {
        std::ranges::fill(object.bytes, dead);
        dead_.push_back(std::move(object.bytes));
    }
    all.erase(chosen);
}

void Program::destroy_one() {
    take_events();
    const auto of = [](auto call) { return [call](auto& object) { return call(object.abi); }; };
    switch (random_.below(14)) {
        case 0: return destroy(domains_, "protection domain", of(ibv_dealloc_pd));
        case 1: return destroy(parents_, "parent domain", of(ibv_dealloc_pd));
        case 2: return destroy(threads_, "thread domain", of(ibv_dealloc_td));
        case 3: return destroy(channels_, "completion channel", of(ibv_destroy_comp_channel));
        case 4: return destroy(queues_, "completion queue", of(ibv_destroy_cq));
        case 5: return destroy(xrc_, "XRC domain", of(ibv_close_xrcd));
        case 6: return destroy(shared_, "shared receive queue", of(ibv_destroy_srq));
        case 7: return destroy(regions_, "memory region", of(ibv_dereg_mr));
        case 8: return destroy(windows_, "memory window", of(ibv_dealloc_mw));
        case 9: return destroy(device_memory_, "device memory", of(ibv_free_dm));
        case 10: return destroy(addresses_, "address handle", of(ibv_destroy_ah));
        default: break;
    }
    if (pairs_.empty()) return;
    std::swap(pairs_[random_.below(pairs_.size())], pairs_.back());
    const auto kind = name(pairs_.back()->abi->qp_type);
    All<ibv_qp> chosen{std::move(pairs_.back())};
    pairs_.pop_back();
    destroy(chosen, kind, of(ibv_destroy_qp));
    for (auto& refused : chosen) pairs_.push_back(std::move(refused));
}

bool Program::left() const {
    return !(domains_.empty() && parents_.empty() && threads_.empty() && channels_.empty() && queues_.empty() &&
             xrc_.empty() && shared_.empty() && regions_.empty() && windows_.empty() && device_memory_.empty() &&
             addresses_.empty() && pairs_.empty());
}

void Program::destroy_all(bool closed_first) {
    if (closed_first) {
        take_events();
        for (auto& pair : pairs_) {
            for (auto& event : pair->told) ibv_ack_async_event(&event);
            pair->told.clear();
        }
        if (ibv_close_device(std::exchange(context_, nullptr)) != 0) wrong("the device is not closed");
    }
    while (left() && fault_.empty()) destroy_one();
    if (context_ != nullptr && ibv_close_device(context_) != 0) wrong("the device is not closed");
    for (const auto& bytes : dead_) {
        if (std::ranges::any_of(bytes, [](auto byte) { return byte != dead; })) {
            return wrong("memory was written to after its region was deregistered");
        }
    }
}

}  // namespace verbline::destruction

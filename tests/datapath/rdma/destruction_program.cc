// SPDX-License-Identifier: BSD-3-Clause
#include "tests/datapath/rdma/destruction_program.h"

#include <algorithm>
#include <stdexcept>

#include "tests/support/rdma_end.h"

// What a program makes and destroys; what it does with it is in destruction_use.cc.

namespace verbline::destruction {
namespace {

constexpr std::byte dead{0xdd};  ///< memory whose region has gone

std::string_view name(QueuePairType type) {
    switch (type) {
        case QueuePairType::rc: return "RC";
        case QueuePairType::uc: return "UC";
        case QueuePairType::ud: return "UD";
        case QueuePairType::xrc_initiator: return "XRC initiator";
        case QueuePairType::xrc_target: return "XRC target";
    }
    return "?";
}

}  // namespace

Program::Program(sim::World& world, sim::Host& host, sim::Random& random)
    : world_(world), host_(host), random_(random), pd_(host.device().allocate_pd()) {
    make_queue(), make_region(), make_shared(false), make_shared(true);
}

Program::~Program() {
    destroy_all();
}

void Program::wrong(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
}

void Program::make_queue() {
    queues_.push_back(std::make_shared<Queue>(host_.device().create_cq(1024)));
}

void Program::make_shared(bool xrc) {
    auto queue = std::make_shared<Shared>();
    if (xrc) {
        if (queues_.empty()) make_queue();
        queue->completions = any(queues_);
        queue->domain = xrc_domain();
    }
    auto native = host_.device().create_shared_receive_queue(pd_, {.requests = 16, .segments = 2},
                                                             xrc ? &queue->domain->native : nullptr,
                                                             xrc ? queue->completions->native.get() : nullptr);
    if (!native) throw std::runtime_error(native.error().what);
    queue->native = std::move(*native);
    if (random_.chance(0.5)) queue->native->arm_limit(4);
    shared_.push_back(std::move(queue));
    post_receives(*shared_.back());
}

/// Most are of the oldest: targets and queues of different domains have nothing to do with each other.
std::shared_ptr<Domain> Program::xrc_domain() {
    if (domains_.empty()) domains_.push_back(std::make_shared<Domain>(host_.device().create_xrc_domain()));
    return random_.chance(0.95) ? domains_.front() : any(domains_);
}

void Program::make_region() {
    auto memory = std::make_shared<Memory>();
    memory->bytes.resize(block);
    auto region = host_.device().register_memory(pd_, memory->bytes, test::every_access);
    if (!region) throw std::runtime_error(region.error().what);
    memory->region.emplace(std::move(*region));
    memory_.push_back(std::move(memory));
}

void Program::make_window() {
    const auto type = random_.chance(0.5) ? memory::WindowType::type1 : memory::WindowType::type2b;
    auto window = host_.device().allocate_window(pd_, type);
    if (!window) throw std::runtime_error(window.error().what);
    const auto key = window->rkey();
    windows_.push_back({std::move(*window), type, key});
}

void Program::make_part() {
    switch (random_.below(6)) {
        case 0: return make_queue();
        case 1: return make_shared(false);
        case 2: return make_shared(true);
        case 3: return make_region();
        case 4: return make_window();
        default: domains_.push_back(std::make_shared<Domain>(host_.device().create_xrc_domain()));
    }
}

std::shared_ptr<Pair> Program::make(QueuePairType type) {
    auto pair = std::make_shared<Pair>();
    pair->type = type;
    if (queues_.size() < 2) make_queue();
    rdma::QueuePairOptions options{.type = type,
                                   .pd = pd_,
                                   .send = {.requests = 16, .segments = 2, .inline_bytes = 64},
                                   .receive = {.requests = 16, .segments = 2},
                                   .signal_all = random_.chance(0.5)};
    if (type == QueuePairType::xrc_target) {
        pair->domain = xrc_domain();
        options.xrc_domain = &pair->domain->native;
    } else {
        pair->sends = any(queues_);
        options.send_completions = pair->sends->native.get();
    }
    if (type == QueuePairType::rc || type == QueuePairType::uc || type == QueuePairType::ud) {
        pair->receives = any(queues_);
        options.receive_completions = pair->receives->native.get();
        if (auto shared = any(shared_); shared != nullptr && shared->domain == nullptr && random_.chance(0.5)) {
            options.shared = shared->native.get();
            pair->shared = std::move(shared);
        }
    }
    auto native = host_.device().create_queue_pair(options);
    if (!native) throw std::runtime_error(native.error().what);
    pair->handles.push_back(std::move(*native));
    while (type == QueuePairType::xrc_target && random_.chance(0.5)) {
        auto opened = host_.device().open_xrc_target(pair->domain->native, pair->qpn());
        if (!opened) throw std::runtime_error(opened.error().what);
        pair->handles.push_back(std::move(*opened));
    }
    pairs_.push_back(pair);
    return pair;
}

/// Of those that nothing else holds, any one.
template <class T, class Finish>
bool Program::destroy(std::vector<std::shared_ptr<T>>& all, Finish&& finish) {
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].use_count() == 1) free.push_back(i);
    }
    if (free.empty()) return false;
    const auto chosen = all.begin() + static_cast<std::ptrdiff_t>(free[random_.below(free.size())]);
    if (!finish(**chosen)) return false;
    all.erase(chosen);
    return true;
}

template <class T>
bool Program::destroy_any(std::vector<std::shared_ptr<T>>& all, std::string_view kind) {
    return destroy(all, [&](T&) {
        count(kind);
        return true;
    });
}

bool Program::destroy_pair() {
    if (pairs_.empty()) return false;
    const auto chosen = pairs_.begin() + static_cast<std::ptrdiff_t>(random_.below(pairs_.size()));
    auto& handles = (*chosen)->handles;
    if (handles.size() > 1) {  // any of them; the queue pair stays
        handles.erase(handles.begin() + static_cast<std::ptrdiff_t>(random_.below(handles.size())));
        count("XRC target's further handle");
        return true;
    }
    if (world_.network().in_flight() != 0) ++under_traffic_;
    count(name((*chosen)->type));
    pairs_.erase(chosen);
    return true;
}

bool Program::destroy_region() {
    return destroy(memory_, [&](Memory& memory) {
        const auto released = memory.region->release();
        if (!released) {
            if (released.error().code != EBUSY || windows_.empty()) wrong("a region without windows is not released");
            return false;  // windows are bound to it
        }
        std::ranges::fill(memory.bytes, dead);
        dead_.push_back(std::move(memory.bytes));
        count("region");
        return true;
    });
}

bool Program::destroy_window() {
    if (windows_.empty()) return false;
    const auto chosen = random_.below(windows_.size());
    std::swap(windows_[chosen], windows_.back());
    count(windows_.back().type == memory::WindowType::type1 ? "type 1 window" : "type 2 window");
    windows_.pop_back();
    return true;
}

bool Program::destroy_one() {
    look_at_events();
    switch (random_.below(8)) {
        case 0: return destroy_any(queues_, "completion queue");
        case 1:
        case 2:
            return destroy(shared_, [&](Shared& shared) {
                count(shared.domain != nullptr ? "XRC shared receive queue" : "shared receive queue");
                return true;
            });
        case 3: return destroy_region();
        case 4: return destroy_window();
        case 5: return destroy_any(domains_, "XRC domain");
        default: return destroy_pair();
    }
}

void Program::destroy_all() {
    const auto left = [this] {
        return !queues_.empty() || !shared_.empty() || !memory_.empty() || !windows_.empty() || !domains_.empty() ||
               !pairs_.empty();
    };
    while (left()) {
        destroy_one();
        if (random_.chance(0.3)) world_.run_for(static_cast<Time>(random_.below(5 * microsecond)));
    }
    for (const auto& bytes : dead_) {
        if (std::ranges::any_of(bytes, [](auto byte) { return byte != dead; })) {
            return wrong("memory was written to after its region was released");
        }
    }
}

}  // namespace verbline::destruction

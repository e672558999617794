// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <pthread.h>

#include <fmt/format.h>

#include "apps/libibverbs/port/own_descriptors.h"
#include "apps/libibverbs/port/owner.h"
#include "datapath/link/gid_table.h"
#include "pmd/base/clock.h"

namespace verbline::verbs {
namespace {

/// Stands for the operations table of an rdma-core provider: as large as any, and empty.
constexpr std::array<void*, 64> no_operations{};

void name_device(DeviceEntry& entry, const std::string& name, unsigned index) {
    auto& device = entry.abi;
    entry.operations = no_operations.data();
    entry.index = index;
    device.node_type = IBV_NODE_CA;
    device.transport_type = IBV_TRANSPORT_IB;
    const auto uverbs = fmt::format("uverbs{}", index);
    const auto set = [](auto& field, const std::string& text) { text.copy(field, sizeof(field) - 1); };
    set(device.name, name);
    set(device.dev_name, uverbs);
    set(device.dev_path, "/sys/class/infiniband_verbs/" + uverbs);
    set(device.ibdev_path, "/sys/class/infiniband/" + name);
}

constexpr Time transmit_timeout = 100 * millisecond;  ///< to transmit work posted before the exit

}  // namespace

void complain(const Error& error) {
    std::fprintf(stderr, "verbline: %s\n", error.what.c_str());
}

Process& Process::get() {
    static auto* const process = new Process;  // never destroyed: see process.h
    return *process;
}

Process::Process() : settings_(settings_from_environment()) {
    if (auto proposed = settings_ ? take_proposed_address(settings_->sysfs) : std::nullopt) {
        own_mac_ = proposed->mac;
        own_mac_lock_ = std::move(proposed->lock);
    } else {
        new_identity();
    }
    Owner::claim();
    std::atexit([] { get().at_exit(); });
    pthread_atfork([] { get().before_fork(); }, [] { get().after_fork_in_parent(); },
                   [] { get().after_fork_in_child(); });
    if (!settings_) return;
    const auto names = device_names(settings_->links);
    devices_.resize(names.size());
    ports_.resize(names.size());
    for (unsigned i = 0; i < names.size(); ++i) name_device(devices_[i], names[i], i);
}

void Process::new_identity() {
    own_mac_ = random_mac();
}

std::vector<DeviceEntry>* Process::devices() {
    if (settings_) return &devices_;
    if (!std::exchange(announced_, true)) complain(settings_.error());
    errno = settings_.error().code;
    return nullptr;
}

Result<VerbsPort*> Process::open(const ibv_device& device) {
    // No fork handler has marked the inherited objects dead, and locks may be held by threads that the child lacks.
    if (Owner::caller() != Owner::Caller::owner)
        return failure(EIO, "a child that was not made by fork() opens a device; use fork(), or execute a program");
    const std::scoped_lock lock(mutex_);
    const auto index = entry(device).index;
    auto& port = ports_[index];
    if (port != nullptr) return port.get();
    const auto needs = eal_needs(settings_->links);
    if (needs.shares_memory && !abandoned_.empty())
        return failure(EIO,
                       "a child of a program with a vhost port, whose memory it shares, opens a device; use a hub "
                       "or a node");
    if (auto started = eal_.need(needs); !started) return std::unexpected(started.error());
    // Addresses are the first Ethernet link's; where there is none, of IPoIB on the first.
    const auto ethernet = std::ranges::find_if_not(settings_->links, is_infiniband);
    const auto first = ethernet != settings_->links.end() ? ethernet - settings_->links.begin() : 0;
    auto opened = VerbsPort::open({.name = device.name,
                                   .instance = fmt::format("v{}.{}", index, generation_),
                                   .own_mac = own_mac_,
                                   .index = index,
                                   .first = first == static_cast<std::ptrdiff_t>(index)},
                                  settings_->links[index], *settings_);
    if (!opened) return std::unexpected(opened.error());
    port = std::move(*opened);
    return port.get();
}

Result<wire::Guid> Process::guid(const ibv_device& device) {
    const auto& link = settings_->links[entry(device).index];
    // These links accept our proposed address; for the others, only the link knows it.
    if (std::holds_alternative<HubLink>(link) || std::holds_alternative<pmd::MemifSpec>(link)) {
        return guid_of(own_mac_);
    }
    const auto port = open(device);
    if (!port) return std::unexpected(port.error());
    return (*port)->guid();
}

void Process::before_fork() {
    if (Owner::caller() != Owner::Caller::owner) return;
    mutex_.lock();
    forking_ = true;
    for (auto& port : ports_) {
        if (port != nullptr) port->before_fork();
    }
}

void Process::after_fork_in_parent() {
    if (!std::exchange(forking_, false)) return;
    for (auto& port : ports_) {
        if (port != nullptr) port->after_fork();
    }
    mutex_.unlock();
}

void Process::after_fork_in_child() {
    if (!std::exchange(forking_, false)) return;
    Owner::claim();
    for (auto& port : ports_) {
        if (port == nullptr) continue;
        port->abandon();
        abandoned_.push_back(std::move(port));
    }
    OwnDescriptors::abandon();
    ++generation_;
    new_identity();
    mutex_.unlock();
}

void Process::at_exit() {
    if (Owner::caller() != Owner::Caller::owner) return;
    const auto until = monotonic_now() + transmit_timeout;
    for (auto& port : ports_) {
        if (port != nullptr) port->finish(until);
    }
}

}  // namespace verbline::verbs

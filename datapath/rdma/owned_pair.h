// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// State shared by the handles of one queue pair; the destructor removes the queue pair from its shard. Internal to
/// this folder.

#include "datapath/rdma/device.h"

namespace verbline::rdma {

struct Device::OwnedPair {
    OwnedPair(Device& device, Engine& on, const transport::TransportQueuePair::Setup& setup)
        : owner(device), engine(on), pair(setup, device.options_.dcqcn) {}
    ~OwnedPair();
    OwnedPair(const OwnedPair&) = delete;
    OwnedPair& operator=(const OwnedPair&) = delete;

    Device& owner;
    Engine& engine;
    transport::TransportQueuePair pair;
};

}  // namespace verbline::rdma

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Address handles of the device, one for each destination that was sent to lately.
///
/// A bounded cache: the least recently used one goes. Some devices (rxe) look the handle up when the request is
/// executed, so one that goes is destroyed only after the requests that were posted with it are complete.

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "datapath/wire/address_handle.h"
#include "pmd/hca/port.h"
#include "pmd/hca/verbs.h"

namespace verbline::pmd::hca {

/// Of one transmit queue, whose thread uses it. Requests are numbered from 0 as they are posted.
class AddressHandles {
public:
    /// `domain` must outlive the handles.
    AddressHandles(const Verbs& verbs, ibv_pd& domain, std::uint8_t port, std::size_t capacity)
        : verbs_(verbs), domain_(domain), port_(port), capacity_(capacity) {}

    /// For request `request`, of which those before `complete` are complete. Null: the device refuses the address.
    /// Making a handle may take a system call.
    ibv_ah* find(const wire::AddressHandle& to, std::uint64_t request, std::uint64_t complete);

    /// Sets what handles depend on beside the destination, and destroys all: no request may be under way.
    void reset(const PortFacts& facts);
    std::size_t size() const { return entries_.size(); }
    std::size_t retiring() const { return retiring_.size(); }  ///< that wait for their requests

private:
    struct Entry {
        wire::AddressHandle to;
        Owned<ibv_ah> handle;
        std::uint64_t last_request = 0;
    };
    using Entries = std::list<Entry>;  ///< the most recently used first
    struct Hash {
        std::size_t operator()(const wire::AddressHandle& to) const noexcept;
    };

    Owned<ibv_ah> create(const wire::AddressHandle& to) const;
    void evict(std::uint64_t complete);

    const Verbs& verbs_;
    ibv_pd& domain_;
    const std::uint8_t port_;
    const std::size_t capacity_;
    bool ethernet_ = false;
    std::uint8_t gid_index_ = 0;
    Entries entries_;
    std::unordered_map<wire::AddressHandle, Entries::iterator, Hash> by_address_;
    std::vector<Entry> retiring_;
};

}  // namespace verbline::pmd::hca

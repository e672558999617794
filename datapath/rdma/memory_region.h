// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Handles of registered memory and memory windows; destroying a handle invalidates its key.

#include <span>
#include <utility>

#include "datapath/memory/key_table.h"
#include "pmd/base/error.h"

namespace verbline::rdma {

class Device;

/// Owns a key; movable only. The destructor and move assignment invalidate the key that the handle has, even if windows
/// are bound to its region: these are unbound, as the key could not be released later.
class KeyHandle {
public:
    KeyHandle(KeyHandle&& other) noexcept : device_(std::exchange(other.device_, nullptr)), key_(other.key_) {}
    KeyHandle& operator=(KeyHandle&& other) noexcept;
    ~KeyHandle() { revoke(); }

    /// Invalidates the key; when it returns, no shard accesses the memory any more. EBUSY: windows are bound to this
    /// region, and the handle keeps its key.
    Result<void> release();

protected:
    KeyHandle(Device& device, wire::RKey key) : device_(&device), key_(key) {}

    Device* device_;
    wire::RKey key_;

private:
    void revoke() noexcept;
};

class MemoryRegion : public KeyHandle {
public:
    wire::RKey lkey() const { return key_; }
    wire::RKey rkey() const { return key_; }

    /// Changes what the key refers to (ibv_rereg_mr). On failure nothing has changed.
    Result<void> change(const memory::RegionAttributes& attributes);

private:
    friend class Device;
    using KeyHandle::KeyHandle;
};

class MemoryWindow : public KeyHandle {
public:
    /// The key as allocated. A bind changes its low byte; the caller tracks the current one.
    wire::RKey rkey() const { return key_; }

private:
    friend class Device;
    using KeyHandle::KeyHandle;
};

}  // namespace verbline::rdma

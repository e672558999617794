// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Registered memory and windows into it, as the user holds them: gone when the handle is.

#include <span>
#include <utility>

#include "datapath/memory/key_table.h"
#include "pmd/base/error.h"

namespace verbline::rdma {

class Device;

/// A handle to a key; moved, not copied. When it goes, no shard touches the memory any more.
class KeyHandle {
public:
    KeyHandle(KeyHandle&& other) noexcept : device_(std::exchange(other.device_, nullptr)), key_(other.key_) {}
    KeyHandle& operator=(KeyHandle&& other) noexcept;
    ~KeyHandle();

    /// Ends it and says whether that was possible. EBUSY: windows are bound to this region.
    Result<void> release();

protected:
    KeyHandle(Device& device, wire::RKey key) : device_(&device), key_(key) {}

    Device* device_;
    wire::RKey key_;
};

class MemoryRegion : public KeyHandle {
public:
    wire::RKey lkey() const { return key_; }
    wire::RKey rkey() const { return key_; }

    /// Registers something else under the same key (ibv_rereg_mr). On failure nothing has changed.
    Result<void> change(const memory::RegionAttributes& attributes);

private:
    friend class Device;
    using KeyHandle::KeyHandle;
};

class MemoryWindow : public KeyHandle {
public:
    /// As allocated; binds change the low byte, and who binds knows it.
    wire::RKey rkey() const { return key_; }

private:
    friend class Device;
    using KeyHandle::KeyHandle;
};

}  // namespace verbline::rdma

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Address handles: the path to a UD peer, resolved once.

#include <atomic>

#include <infiniband/verbs.h>

#include "apps/libibverbs/objects/abi_handle.h"
#include "apps/libibverbs/objects/context.h"
#include "apps/libibverbs/objects/protection_domain.h"
#include "datapath/rdma/address.h"

namespace verbline::verbs {

/// Converts ibv_ah_attr and, on RoCE, resolves the Ethernet address of the next hop, which blocks. EINVAL: invalid
/// attributes; EHOSTUNREACH: no answer.
Result<rdma::Path> to_path(Context& context, const ibv_ah_attr& attributes);

class AddressHandle {
public:
    AddressHandle(ProtectionDomain& domain, const link::Envelope& envelope);
    ~AddressHandle();
    AddressHandle(const AddressHandle&) = delete;
    AddressHandle& operator=(const AddressHandle&) = delete;

    static AddressHandle& of(ibv_ah* ah) { return AbiHandle<ibv_ah, AddressHandle>::object_of(ah); }
    ibv_ah* abi() { return &handle_.abi; }
    const ProtectionDomain& domain() const { return domain_; }
    const link::Envelope& envelope() const { return envelope_; }

private:
    AbiHandle<ibv_ah, AddressHandle> handle_;
    ProtectionDomain& domain_;
    link::Envelope envelope_;
};

}  // namespace verbline::verbs

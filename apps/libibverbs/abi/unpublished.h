// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Functions that libibverbs.so.1 exports and <infiniband/verbs.h> does not declare: librdmacm, libmlx5 and pyverbs
/// call them.
///
/// Structures of the kernel's interface are in host byte order, except for fields of __be types.

#include <cstddef>
#include <cstdint>

#include <infiniband/sa.h>
#include <infiniband/verbs.h>

#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

extern "C" {

// Convert queue pair attributes and path records as the kernel's connection manager, or its substitute, writes them.
void ibv_copy_ah_attr_from_kern(ibv_ah_attr* to, const ib_uverbs_ah_attr* from);
void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, const ib_uverbs_qp_attr* from);
void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* to, const ib_user_path_rec* from);
void ibv_copy_path_rec_to_kern(ib_user_path_rec* to, const ibv_sa_path_rec* from);

/// The path of sysfs: $SYSFS_PATH or /sys. The string is owned by the environment.
const char* ibv_get_sysfs_path();
/// Reads DIRECTORY/FILE into `buffer`, without its last newline. Returns the length, or -1 and errno; the text always
/// ends with a zero within `size`, and what does not fit is an error (EMSGSIZE).
int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer, std::size_t size);

/// Values of the kernel's gid_attrs/types: not those of ibv_gid_type.
enum ibv_gid_type_sysfs { IBV_GID_TYPE_SYSFS_IB_ROCE_V1, IBV_GID_TYPE_SYSFS_ROCE_V2 };
/// Exported in every private version node. Returns 0, or -1 and errno. Defined by the library's device part.
int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, ibv_gid_type_sysfs* type);

}  // extern "C"

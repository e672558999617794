// SPDX-License-Identifier: BSD-3-Clause

// The definitions behind the names of the version nodes IBVERBS_PRIVATE_N (symbols.txt): seven definitions, more than a
// thousand aliases. They are for drivers of other devices, which never hold a device of ours.
//
// A symbol in several version nodes needs .symver in the assembler's input of the file that defines it, so this file is
// compiled without link-time optimisation. The definitions have default visibility, which their aliases inherit; the
// version script hides them.

#include <cerrno>

#include "apps/libibverbs/abi/unpublished.h"

extern "C" {

int verbline_private_error();
int verbline_private_failure();
void* verbline_private_null();
std::uintptr_t verbline_private_nothing();
const char* verbline_private_text();
extern const bool verbline_private_flag;
int verbline_private_ours(ibv_context*, std::uint8_t, unsigned, ibv_gid_type_sysfs*);

int verbline_private_error() {
    return errno = ENOSYS;
}

int verbline_private_failure() {
    errno = ENOSYS;
    return -1;
}

void* verbline_private_null() {
    errno = ENOSYS;
    return nullptr;
}

// Among its names are functions that return nothing and one that returns a number of attributes.
std::uintptr_t verbline_private_nothing() {
    return 0;
}

const char* verbline_private_text() {
    return "unknown";
}

const bool verbline_private_flag = false;

int verbline_private_ours(ibv_context* context, std::uint8_t port, unsigned index, ibv_gid_type_sysfs* type) {
    return ibv_query_gid_type(context, port, index, type);
}

}  // extern "C"

// clang-format off
__asm__(
#include <private_aliases.inc>  // made of symbols.txt
);
// clang-format on

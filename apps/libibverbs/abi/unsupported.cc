// SPDX-License-Identifier: BSD-3-Clause

// Verbs newer than the header this library is written against (IBVERBS_1.15 to 1.17): exported, so that programs built
// with newer headers load, and each returns the error that it defines for a device without support. As in C, symbol
// names do not encode the arguments, which are ignored.

#include <cerrno>

extern "C" {

void* ibv_alloc_dmah();
int ibv_dealloc_dmah();
void* ibv_reg_mr_ex();
int ibv_dm_export_dmabuf_fd();
int ibv_query_port_speed();
void* ibv_alloc_buf();
void ibv_free_buf();
void* ibv_reg_buf_mr();
void ibv_register_driver();

void* ibv_alloc_dmah() {
    errno = EOPNOTSUPP;
    return nullptr;
}

int ibv_dealloc_dmah() {
    return errno = EOPNOTSUPP;
}

void* ibv_reg_mr_ex() {
    errno = EOPNOTSUPP;
    return nullptr;
}

// A descriptor, or -1.
int ibv_dm_export_dmabuf_fd() {
    errno = EOPNOTSUPP;
    return -1;
}

int ibv_query_port_speed() {
    return errno = EOPNOTSUPP;
}

void* ibv_alloc_buf() {
    errno = EOPNOTSUPP;
    return nullptr;
}

void ibv_free_buf() {}

void* ibv_reg_buf_mr() {
    errno = EOPNOTSUPP;
    return nullptr;
}

// Drivers of before 2018 registered themselves with it; their devices are not listed.
void ibv_register_driver() {}

}  // extern "C"

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The calls that fault injection makes fail: X(result, name, parameters, arguments, value on failure, errnos).
/// meson.build hands the names to the linker.
///
/// Errnos are those that a correct caller must expect of its environment, not those of its own mistakes.

#define VERBLINE_ERRNOS(...) __VA_ARGS__

/// Those that give descriptors. Programs that have a --wrap of their own for these (own_descriptors.h) meet the faults
/// behind it: faults_stand_ins.cc.
#define VERBLINE_FAULTY_OPENING_CALLS(X)                                                                              \
    X(int, socket, (int a, int b, int c), (a, b, c), -1, VERBLINE_ERRNOS(EMFILE, ENOMEM))                             \
    X(int, accept4, (int a, sockaddr* b, socklen_t* c, int d), (a, b, c, d), -1,                                      \
      VERBLINE_ERRNOS(EMFILE, ENOMEM, EAGAIN, EINTR))                                                                 \
    X(int, accept, (int a, sockaddr* b, socklen_t* c), (a, b, c), -1, VERBLINE_ERRNOS(EMFILE, ENOMEM, EAGAIN, EINTR)) \
    X(ssize_t, recvmsg, (int a, msghdr* b, int c), (a, b, c), -1, VERBLINE_ERRNOS(EAGAIN, EINTR, ENOMEM, ECONNRESET)) \
    X(int, memfd_create, (const char* a, unsigned b), (a, b), -1, VERBLINE_ERRNOS(EMFILE, ENOMEM))                    \
    X(int, eventfd, (unsigned a, int b), (a, b), -1, VERBLINE_ERRNOS(EMFILE, ENOMEM))                                 \
    X(int, epoll_create1, (int a), (a), -1, VERBLINE_ERRNOS(EMFILE, ENOMEM))                                          \
    X(int, pipe2, (int* a, int b), (a, b), -1, VERBLINE_ERRNOS(EMFILE, ENFILE))

#define VERBLINE_FAULTY_CALLS(X)                                                                                    \
    X(int, bind, (int a, const sockaddr* b, socklen_t c), (a, b, c), -1, VERBLINE_ERRNOS(ENOMEM, EADDRINUSE))       \
    X(int, listen, (int a, int b), (a, b), -1, VERBLINE_ERRNOS(EADDRINUSE))                                         \
    X(int, connect, (int a, const sockaddr* b, socklen_t c), (a, b, c), -1,                                         \
      VERBLINE_ERRNOS(EAGAIN, ECONNREFUSED, EINTR))                                                                 \
    X(int, setsockopt, (int a, int b, int c, const void* d, socklen_t e), (a, b, c, d, e), -1,                      \
      VERBLINE_ERRNOS(ENOMEM))                                                                                      \
    X(int, getsockopt, (int a, int b, int c, void* d, socklen_t* e), (a, b, c, d, e), -1, VERBLINE_ERRNOS(ENOBUFS)) \
    X(int, getsockname, (int a, sockaddr* b, socklen_t* c), (a, b, c), -1, VERBLINE_ERRNOS(ENOBUFS))                \
    X(ssize_t, send, (int a, const void* b, size_t c, int d), (a, b, c, d), -1,                                     \
      VERBLINE_ERRNOS(EAGAIN, EINTR, ENOBUFS, EPIPE))                                                               \
    X(ssize_t, sendto, (int a, const void* b, size_t c, int d, const sockaddr* e, socklen_t f), (a, b, c, d, e, f), \
      -1, VERBLINE_ERRNOS(EAGAIN, EINTR, ENOBUFS))                                                                  \
    X(ssize_t, sendmsg, (int a, const msghdr* b, int c), (a, b, c), -1,                                             \
      VERBLINE_ERRNOS(EAGAIN, EINTR, ENOBUFS, EPIPE))                                                               \
    X(int, sendmmsg, (int a, mmsghdr* b, unsigned c, int d), (a, b, c, d), -1,                                      \
      VERBLINE_ERRNOS(EAGAIN, EINTR, ENOBUFS))                                                                      \
    X(ssize_t, recv, (int a, void* b, size_t c, int d), (a, b, c, d), -1,                                           \
      VERBLINE_ERRNOS(EAGAIN, EINTR, ENOMEM, ECONNRESET))                                                           \
    X(ssize_t, read, (int a, void* b, size_t c), (a, b, c), -1, VERBLINE_ERRNOS(EAGAIN, EINTR, EIO))                \
    X(ssize_t, readv, (int a, const iovec* b, int c), (a, b, c), -1, VERBLINE_ERRNOS(EAGAIN, EINTR, EIO))           \
    X(ssize_t, preadv64v2, (int a, const iovec* b, int c, off64_t d, int e), (a, b, c, d, e), -1,                   \
      VERBLINE_ERRNOS(EAGAIN, EINTR, EIO, EOPNOTSUPP))                                                              \
    X(ssize_t, write, (int a, const void* b, size_t c), (a, b, c), -1, VERBLINE_ERRNOS(EAGAIN, EINTR, ENOSPC))      \
    X(ssize_t, writev, (int a, const iovec* b, int c), (a, b, c), -1, VERBLINE_ERRNOS(EAGAIN, EINTR, ENOBUFS))      \
    X(int, ftruncate64, (int a, off64_t b), (a, b), -1, VERBLINE_ERRNOS(EINTR, ENOSPC))                             \
    X(int, fstat64, (int a, struct stat64* b), (a, b), -1, VERBLINE_ERRNOS(ENOMEM))                                 \
    X(void*, mmap64, (void* a, size_t b, int c, int d, int e, off64_t f), (a, b, c, d, e, f), MAP_FAILED,           \
      VERBLINE_ERRNOS(ENOMEM, EAGAIN))                                                                              \
    X(int, eventfd_write, (int a, eventfd_t b), (a, b), -1, VERBLINE_ERRNOS(EINTR))                                 \
    X(int, eventfd_read, (int a, eventfd_t* b), (a, b), -1, VERBLINE_ERRNOS(EAGAIN, EINTR))                         \
    X(int, epoll_ctl, (int a, int b, int c, epoll_event* d), (a, b, c, d), -1, VERBLINE_ERRNOS(ENOMEM, ENOSPC))     \
    X(int, epoll_wait, (int a, epoll_event* b, int c, int d), (a, b, c, d), -1, VERBLINE_ERRNOS(EINTR))             \
    X(int, epoll_pwait2, (int a, epoll_event* b, int c, const timespec* d, const sigset_t* e), (a, b, c, d, e), -1, \
      VERBLINE_ERRNOS(EINTR, ENOSYS))                                                                               \
    X(int, poll, (pollfd * a, nfds_t b, int c), (a, b, c), -1, VERBLINE_ERRNOS(EINTR, ENOMEM))                      \
    X(int, mkdir, (const char* a, mode_t b), (a, b), -1, VERBLINE_ERRNOS(ENOSPC))                                   \
    X(int, fchmod, (int a, mode_t b), (a, b), -1, VERBLINE_ERRNOS(EIO))                                             \
    X(int, flock, (int a, int b), (a, b), -1, VERBLINE_ERRNOS(EINTR, ENOLCK))                                       \
    X(FILE*, fopen64, (const char* a, const char* b), (a, b), nullptr, VERBLINE_ERRNOS(EMFILE, ENOMEM, ENOSPC))     \
    X(size_t, fwrite, (const void* a, size_t b, size_t c, FILE* d), (a, b, c, d), 0, VERBLINE_ERRNOS(ENOSPC))       \
    X(int, fflush, (FILE * a), (a), EOF, VERBLINE_ERRNOS(ENOSPC, EIO))                                              \
    X(DIR*, opendir, (const char* a), (a), nullptr, VERBLINE_ERRNOS(EMFILE, ENOMEM))                                \
    X(void*, aligned_alloc, (size_t a, size_t b), (a, b), nullptr, VERBLINE_ERRNOS(ENOMEM))                         \
    X(int, fallocate64, (int a, int b, off64_t c, off64_t d), (a, b, c, d), -1,                                     \
      VERBLINE_ERRNOS(ENOSPC, EINTR, EOPNOTSUPP))                                                                   \
    X(FILE*, fdopen, (int a, const char* b), (a, b), nullptr, VERBLINE_ERRNOS(ENOMEM))                              \
    X(pid_t, fork, (), (), -1, VERBLINE_ERRNOS(EAGAIN, ENOMEM))                                                     \
    X(unsigned, if_nametoindex, (const char* a), (a), 0, VERBLINE_ERRNOS(EMFILE))

#define VERBLINE_FAULTY_DPDK_CALLS(X)                                                                                \
    X(rte_mempool*, rte_pktmbuf_pool_create,                                                                         \
      (const char* a, unsigned b, unsigned c, std::uint16_t d, std::uint16_t e, int f), (a, b, c, d, e, f), nullptr, \
      VERBLINE_ERRNOS(ENOMEM))                                                                                       \
    X(rte_ring*, rte_ring_create, (const char* a, unsigned b, int c, unsigned d), (a, b, c, d), nullptr,             \
      VERBLINE_ERRNOS(ENOMEM))                                                                                       \
    X(rte_mbuf*, rte_pktmbuf_copy, (const rte_mbuf* a, rte_mempool* b, std::uint32_t c, std::uint32_t d),            \
      (a, b, c, d), nullptr, VERBLINE_ERRNOS(ENOMEM))

// libnl gives negative codes of its own, and the socket's errno where it has none.
#define VERBLINE_NL_FAILURE (error == EMFILE ? -NLE_FAILURE : error == EAGAIN ? -NLE_AGAIN : -NLE_NOMEM)
#define VERBLINE_FAULTY_NETLINK_CALLS(X)                                                                             \
    X(nl_sock*, nl_socket_alloc, (), (), nullptr, VERBLINE_ERRNOS(ENOMEM))                                           \
    X(int, nl_connect, (nl_sock * a, int b), (a, b), VERBLINE_NL_FAILURE, VERBLINE_ERRNOS(EMFILE, ENOMEM))           \
    X(int, nl_socket_add_membership, (nl_sock * a, int b), (a, b), VERBLINE_NL_FAILURE, VERBLINE_ERRNOS(ENOMEM))     \
    X(int, nl_send, (nl_sock * a, nl_msg * b), (a, b), VERBLINE_NL_FAILURE, VERBLINE_ERRNOS(ENOBUFS, EAGAIN))        \
    X(int, nl_recv, (nl_sock * a, sockaddr_nl * b, unsigned char** c, ucred** d), (a, b, c, d), VERBLINE_NL_FAILURE, \
      VERBLINE_ERRNOS(ENOBUFS, EAGAIN))                                                                              \
    X(nl_msg*, nlmsg_alloc_simple, (int a, int b), (a, b), nullptr, VERBLINE_ERRNOS(ENOMEM))                         \
    X(int, nlmsg_append, (nl_msg * a, void* b, size_t c, int d), (a, b, c, d), VERBLINE_NL_FAILURE,                  \
      VERBLINE_ERRNOS(ENOMEM))                                                                                       \
    X(nl_addr*, nl_addr_build, (int a, const void* b, size_t c), (a, b, c), nullptr, VERBLINE_ERRNOS(ENOMEM))        \
    X(rtnl_link*, rtnl_link_alloc, (), (), nullptr, VERBLINE_ERRNOS(ENOMEM))                                         \
    X(rtnl_addr*, rtnl_addr_alloc, (), (), nullptr, VERBLINE_ERRNOS(ENOMEM))                                         \
    X(rtnl_route*, rtnl_route_alloc, (), (), nullptr, VERBLINE_ERRNOS(ENOMEM))                                       \
    X(rtnl_nexthop*, rtnl_route_nh_alloc, (), (), nullptr, VERBLINE_ERRNOS(ENOMEM))                                  \
    X(int, rtnl_link_build_get_request, (int a, const char* b, nl_msg** c), (a, b, c), VERBLINE_NL_FAILURE,          \
      VERBLINE_ERRNOS(ENOMEM))                                                                                       \
    X(int, rtnl_link_build_change_request, (rtnl_link * a, rtnl_link * b, int c, nl_msg** d), (a, b, c, d),          \
      VERBLINE_NL_FAILURE, VERBLINE_ERRNOS(ENOMEM))                                                                  \
    X(int, rtnl_addr_build_add_request, (rtnl_addr * a, int b, nl_msg** c), (a, b, c), VERBLINE_NL_FAILURE,          \
      VERBLINE_ERRNOS(ENOMEM))                                                                                       \
    X(int, rtnl_addr_build_delete_request, (rtnl_addr * a, int b, nl_msg** c), (a, b, c), VERBLINE_NL_FAILURE,       \
      VERBLINE_ERRNOS(ENOMEM))                                                                                       \
    X(int, rtnl_route_build_add_request, (rtnl_route * a, int b, nl_msg** c), (a, b, c), VERBLINE_NL_FAILURE,        \
      VERBLINE_ERRNOS(ENOMEM))                                                                                       \
    X(int, rtnl_route_build_del_request, (rtnl_route * a, int b, nl_msg** c), (a, b, c), VERBLINE_NL_FAILURE,        \
      VERBLINE_ERRNOS(ENOMEM))                                                                                       \
    X(int, rtnl_route_parse, (nlmsghdr * a, rtnl_route * *b), (a, b), VERBLINE_NL_FAILURE, VERBLINE_ERRNOS(ENOMEM))

// DPDK's devices give negative errnos.
#define VERBLINE_FAULTY_ETHDEV_CALLS(X)                                                                                \
    X(int, rte_dev_probe, (const char* a), (a), -error, VERBLINE_ERRNOS(ENOMEM))                                       \
    X(int, rte_eth_dev_info_get, (std::uint16_t a, rte_eth_dev_info* b), (a, b), -error, VERBLINE_ERRNOS(EIO))         \
    X(int, rte_eth_dev_configure, (std::uint16_t a, std::uint16_t b, std::uint16_t c, const rte_eth_conf* d),          \
      (a, b, c, d), -error, VERBLINE_ERRNOS(ENOMEM))                                                                   \
    X(int, rte_eth_dev_adjust_nb_rx_tx_desc, (std::uint16_t a, std::uint16_t* b, std::uint16_t* c), (a, b, c), -error, \
      VERBLINE_ERRNOS(EIO))                                                                                            \
    X(int, rte_eth_rx_queue_setup,                                                                                     \
      (std::uint16_t a, std::uint16_t b, std::uint16_t c, unsigned d, const rte_eth_rxconf* e, rte_mempool* f),        \
      (a, b, c, d, e, f), -error, VERBLINE_ERRNOS(ENOMEM))                                                             \
    X(int, rte_eth_tx_queue_setup,                                                                                     \
      (std::uint16_t a, std::uint16_t b, std::uint16_t c, unsigned d, const rte_eth_txconf* e), (a, b, c, d, e),       \
      -error, VERBLINE_ERRNOS(ENOMEM))                                                                                 \
    X(int, rte_eth_dev_start, (std::uint16_t a), (a), -error, VERBLINE_ERRNOS(EAGAIN, EIO))                            \
    X(int, rte_eth_promiscuous_enable, (std::uint16_t a), (a), -error, VERBLINE_ERRNOS(ENOTSUP, EIO))                  \
    X(int, rte_eth_promiscuous_disable, (std::uint16_t a), (a), -error, VERBLINE_ERRNOS(ENOTSUP, EIO))                 \
    X(int, rte_eth_macaddr_get, (std::uint16_t a, rte_ether_addr* b), (a, b), -error, VERBLINE_ERRNOS(EIO))            \
    X(int, rte_eth_dev_set_link_up, (std::uint16_t a), (a), -error, VERBLINE_ERRNOS(EIO))                              \
    X(int, rte_eth_dev_set_link_down, (std::uint16_t a), (a), -error, VERBLINE_ERRNOS(EIO))                            \
    X(int, rte_eth_link_get_nowait, (std::uint16_t a, rte_eth_link* b), (a, b), -error, VERBLINE_ERRNOS(EIO))          \
    X(int, rte_eth_dev_default_mac_addr_set, (std::uint16_t a, rte_ether_addr* b), (a, b), -error,                     \
      VERBLINE_ERRNOS(ENOTSUP, EIO))                                                                                   \
    X(int, rte_eth_dev_set_mc_addr_list, (std::uint16_t a, rte_ether_addr* b, std::uint32_t c), (a, b, c), -error,     \
      VERBLINE_ERRNOS(ENOSPC, EIO))                                                                                    \
    X(int, rte_eth_allmulticast_enable, (std::uint16_t a), (a), -error, VERBLINE_ERRNOS(EIO))                          \
    X(int, rte_eth_allmulticast_disable, (std::uint16_t a), (a), -error, VERBLINE_ERRNOS(EIO))                         \
    X(int, rte_eth_dev_rss_hash_conf_get, (std::uint16_t a, rte_eth_rss_conf* b), (a, b), -error,                      \
      VERBLINE_ERRNOS(ENOTSUP))                                                                                        \
    X(int, rte_eth_dev_rss_reta_query, (std::uint16_t a, rte_eth_rss_reta_entry64* b, std::uint16_t c), (a, b, c),     \
      -error, VERBLINE_ERRNOS(EIO))                                                                                    \
    X(int, rte_eth_xstats_get_names, (std::uint16_t a, rte_eth_xstat_name* b, unsigned c), (a, b, c), -error,          \
      VERBLINE_ERRNOS(EIO))                                                                                            \
    X(int, rte_eth_xstats_get, (std::uint16_t a, rte_eth_xstat* b, unsigned c), (a, b, c), -error, VERBLINE_ERRNOS(EIO))

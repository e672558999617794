// SPDX-License-Identifier: BSD-3-Clause
// verbs_careless CASE [HOW]: a program that does to the library what programs do that know nothing of it. Says `ok` at
// the end, or what is wrong, and then ends with status 1.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include "tests/support/deny_membarrier.h"

namespace {

[[noreturn]] void give_up(const char* what) {
    std::printf("NOT so: %s (%s)\n", what, std::strerror(errno));
    std::fflush(stdout);
    _exit(1);
}
void expect(bool good, const char* what) {
    if (!good) give_up(what);
}

constexpr std::size_t room = 1 << 20;

/// A device, and a queue pair on it that is connected to itself.
struct Loop {
    Loop() {
        auto** const list = ibv_get_device_list(nullptr);
        context = list != nullptr && list[0] != nullptr ? ibv_open_device(list[0]) : nullptr;
        expect(context != nullptr, "the device opens");
        pd = ibv_alloc_pd(context);
        cq = ibv_create_cq(context, 64, nullptr, nullptr, 0);
        memory = static_cast<char*>(mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mr = ibv_reg_mr(pd, memory, room, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
        source = ibv_reg_mr(pd, bytes.data(), bytes.size(), IBV_ACCESS_LOCAL_WRITE);
        ibv_qp_init_attr wanted{};
        wanted.send_cq = wanted.recv_cq = cq;
        wanted.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
        wanted.qp_type = IBV_QPT_RC;
        qp = ibv_create_qp(pd, &wanted);
        expect(qp != nullptr && mr != nullptr && source != nullptr, "a queue pair and regions are made");
        connect();
    }
    void connect() const {
        ibv_qp_attr a{};
        a.qp_state = IBV_QPS_INIT, a.port_num = 1, a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        expect(ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
               "INIT");
        a.qp_state = IBV_QPS_RTR, a.path_mtu = IBV_MTU_1024, a.dest_qp_num = qp->qp_num;
        a.max_dest_rd_atomic = a.max_rd_atomic = 1, a.min_rnr_timer = 12;
        a.ah_attr.is_global = 1, a.ah_attr.port_num = 1, a.ah_attr.grh.hop_limit = 64;
        ibv_query_gid(context, 1, 0, &a.ah_attr.grh.dgid);
        expect(ibv_modify_qp(qp, &a,
                             IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
               "RTR");
        a.qp_state = IBV_QPS_RTS, a.timeout = 14, a.retry_cnt = 7, a.rnr_retry = 7;
        expect(ibv_modify_qp(qp, &a,
                             IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                 IBV_QP_MAX_QP_RD_ATOMIC) == 0,
               "RTS");
    }
    int post() const {
        ibv_sge piece{.addr = reinterpret_cast<std::uintptr_t>(bytes.data()), .length = 512, .lkey = source->lkey};
        ibv_send_wr wr{}, *bad = nullptr;
        wr.sg_list = &piece, wr.num_sge = 1, wr.opcode = IBV_WR_RDMA_WRITE, wr.send_flags = IBV_SEND_SIGNALED;
        wr.wr.rdma = {.remote_addr = reinterpret_cast<std::uintptr_t>(memory), .rkey = mr->rkey};
        return ibv_post_send(qp, &wr, &bad);
    }
    /// Of a WRITE to ourselves.
    ibv_wc_status write() const {
        errno = post();
        expect(errno == 0, "a WRITE is posted");
        for (ibv_wc wc{};;)
            if (ibv_poll_cq(cq, 1, &wc) == 1) return wc.status;
    }
    void expect_traffic(const char* what) {
        bytes[0] = static_cast<char>(bytes[0] + 1);
        expect(write() == IBV_WC_SUCCESS && memory[0] == bytes[0], what);
    }

    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    ibv_cq* cq = nullptr;
    ibv_qp* qp = nullptr;
    ibv_mr *mr = nullptr, *source = nullptr;
    char* memory = nullptr;
    std::array<char, 4096> bytes{};
};

/// Runs `act` in a child that was made `how`, and gives its status.
int in_child(const std::string& how, const std::function<void()>& act) {
    pid_t child = -1;
    if (how == "fork") child = fork();
    if (how == "_Fork") child = _Fork();
    if (how == "clone") child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    if (how == "vfork") child = vfork();  // NOLINT: what programs do
    if (child == 0) {
        act();
        _exit(0);
    }
    expect(child > 0, "a child is made");
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

struct Listener {
    Listener() {
        channel = rdma_create_event_channel();
        expect(channel != nullptr && rdma_create_id(channel, &id, nullptr, RDMA_PS_TCP) == 0, "an id is made");
    }
    void listen() const {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_port = htons(7333);
        expect(rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&any)) == 0, "the parent binds");
        expect(rdma_listen(id, 8) == 0, "the parent listens");
    }
    rdma_event_channel* channel = nullptr;
    rdma_cm_id* id = nullptr;
};

void child_closes(const std::string& how) {
    const Listener listener;
    const int descriptor = listener.channel->fd;
    if (how == "spawn") {
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addclosefrom_np(&actions, 3);
        std::array<char*, 2> arguments{const_cast<char*>("true"), nullptr};
        pid_t child = 0;
        expect(posix_spawnp(&child, "true", &actions, nullptr, arguments.data(), environ) == 0, "true is spawned");
        waitpid(child, nullptr, 0);
    } else {
        expect(in_child(how, [descriptor] { close(descriptor), closefrom(3); }) == 0, "the child ends well");
    }
    listener.listen();
}

/// A child that uses what it inherits, and runs the handlers of exit.
void child_uses(const std::string& how) {
    Loop loop;
    const Listener listener;
    loop.expect_traffic("traffic before");
    const int status = in_child(how, [&] {
        ibv_wc wc{};
        const bool dead = loop.post() == EIO && ibv_poll_cq(loop.cq, 1, &wc) == 0 &&
                          ibv_alloc_pd(loop.context) == nullptr && rdma_listen(listener.id, 8) != 0 && errno == EIO;
        std::exit(dead ? 0 : 1);
    });
    expect(status == 0, "what the child inherits is dead");
    loop.expect_traffic("traffic after");
    listener.listen();
}

void close_all(const std::string& how, int last) {
    if (how == "loop")
        for (int each = 3; each <= last; ++each) close(each);
    if (how == "closefrom") closefrom(3);
    if (how == "close_range") expect(close_range(3, UINT_MAX, 0) == 0, "close_range");
    if (how == "raw") expect(syscall(SYS_close_range, 3, UINT_MAX, 0) == 0, "close_range past the C library");
}

/// FILE and HOW: all descriptors are closed, or replaced, and FILE is opened.
void daemon_closes(const std::string& how, const char* path) {
    Loop loop;
    auto* const channel = ibv_create_comp_channel(loop.context);
    expect(channel != nullptr, "a completion channel");
    loop.expect_traffic("traffic before");
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const int last = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 4096)) - 1;
    close_all(how, last);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
    expect(file >= 0, "the file is opened");
    if (how == "dup2")
        for (int each = 3; each <= last; ++each) dup2(file, each);
    const bool dead = how == "raw";
    if (dead) {
        ibv_async_event event{};
        for (int tries = 0; event.event_type != IBV_EVENT_DEVICE_FATAL; ++tries) {
            expect(tries < 500, "DEVICE_FATAL comes");
            if (ibv_get_async_event(loop.context, &event) == 0) continue;  // not the first
            expect(errno == EBADF, "without its descriptor");
            usleep(10000);
        }
        expect(loop.post() == EIO, "posting gives EIO");
    } else {
        for (int i = 0; i < 100; ++i) loop.expect_traffic("traffic after");
        usleep(300000);  // long enough for the helper to have slept, and looked at the link
        loop.expect_traffic("traffic at last");
    }
    ibv_destroy_comp_channel(channel);
    struct stat about{};
    expect(fcntl(file, F_GETFD) >= 0, "the program's file is still open");
    expect(fstat(file, &about) == 0 && about.st_size == 0, "not a byte of ours is in the program's file");
}

void ignore(int /*signal*/) {}

void take_signals(const std::string& how) {
    sigset_t all;
    sigfillset(&all);
    struct sigaction action{};
    action.sa_handler = SIG_DFL;
    if (how == "default") std::signal(SIGSEGV, SIG_DFL), std::signal(SIGBUS, SIG_DFL);
    if (how == "sigaction") sigaction(SIGSEGV, &action, nullptr), sigaction(SIGBUS, &action, nullptr);
    if (how == "ignored") std::signal(SIGSEGV, SIG_IGN);
    if (how == "handler") std::signal(SIGSEGV, ignore);
    if (how == "sigprocmask") sigprocmask(SIG_SETMASK, &all, nullptr);
    if (how == "pthread_sigmask") pthread_sigmask(SIG_BLOCK, &all, nullptr);
    if (how == "in_handler") {
        action.sa_handler = ignore;
        action.sa_mask = all;
        sigaction(SIGUSR1, &action, nullptr);
    }
    sigset_t told;
    pthread_sigmask(SIG_SETMASK, nullptr, &told);
    const bool masked = how == "sigprocmask" || how == "pthread_sigmask";
    expect((sigismember(&told, SIGSEGV) == 1) == masked, "the program is told the mask that it has set");
    struct sigaction found{};
    sigaction(SIGSEGV, nullptr, &found);
    expect(how != "handler" || found.sa_handler == ignore, "the program is told the handler that it has set");
}

Loop* the_loop = nullptr;

void unmapped(const std::string& how) {
    Loop loop;
    the_loop = &loop;
    loop.expect_traffic("traffic before");
    take_signals(how);
    munmap(loop.memory, room);
    if (how == "in_handler") {
        struct sigaction action{};
        action.sa_handler = [](int) { expect(the_loop->write() != IBV_WC_SUCCESS, "refused in a handler"); };
        sigfillset(&action.sa_mask);
        sigaction(SIGUSR1, &action, nullptr);
        std::raise(SIGUSR1);
        return;
    }
    expect(loop.write() != IBV_WC_SUCCESS, "the WRITE is refused");
}

/// The program's own faults are its own as before.
void own_fault(const std::string& how) {
    const Loop loop;
    const int status = in_child("fork", [&how] {
        if (how == "handler") {
            struct sigaction action{};
            action.sa_handler = [](int) { _exit(42); };
            sigaction(SIGSEGV, &action, nullptr);
        }
        if (how == "default") std::signal(SIGSEGV, SIG_DFL);
        *static_cast<volatile char*>(nullptr) = 1;  // NOLINT: the point of it
    });
    const bool handled = WIFEXITED(status) && WEXITSTATUS(status) == 42;
    expect(how == "handler" ? handled : WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "as without us");
}

/// The key goes on naming the addresses, whatever is there by then.
void remapped() {
    Loop loop;
    loop.expect_traffic("traffic before");
    munmap(loop.memory, room);
    expect(
        mmap(loop.memory, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == loop.memory,
        "mapped again");
    loop.expect_traffic("the WRITE is in the new memory");
    expect(mmap(loop.memory, room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == loop.memory,
           "read-only");
    expect(loop.write() != IBV_WC_SUCCESS && loop.memory[0] == 0, "read-only memory is not written to");
}

std::array<std::atomic<int>, 64> to_close;

/// Channels are closed in a signal handler, which interrupts whatever the library is doing.
void closes_in_handler() {
    for (auto& each : to_close) each = -1;
    std::signal(SIGALRM, [](int) {
        for (auto& each : to_close)
            if (const int descriptor = each.exchange(-1); descriptor >= 0) return static_cast<void>(close(descriptor));
    });
    const itimerval often{{0, 2000}, {0, 2000}};
    setitimer(ITIMER_REAL, &often, nullptr);
    for (int round = 0; round < 60; ++round) {
        const Listener listener;
        sockaddr_in any{};
        any.sin_family = AF_INET;
        rdma_bind_addr(listener.id, reinterpret_cast<sockaddr*>(&any));
        to_close[static_cast<std::size_t>(round) % to_close.size()] = listener.channel->fd;
        rdma_cm_id* other = nullptr;
        rdma_create_id(listener.channel, &other, nullptr, RDMA_PS_TCP);
    }
}

/// A thread asks for events while another closes the channel. HOW: does asking block?
void asks_while_closing(const std::string& how) {
    const bool blocks = how == "blocking";
    for (int round = 0; round < 50; ++round) {
        const Listener listener;
        const int descriptor = listener.channel->fd;
        if (!blocks) fcntl(descriptor, F_SETFL, O_NONBLOCK);
        std::atomic<bool> asking = false;
        std::atomic<int> end = 0;
        std::thread asker([&] {
            rdma_cm_event* event = nullptr;
            asking = true;
            for (int pauses = 0; pauses < 20 * round; ++pauses) __builtin_ia32_pause();
            while (rdma_get_cm_event(listener.channel, &event) != 0 && errno == EAGAIN) {}
            end = errno;
        });
        while (!asking) {}
        close(descriptor);
        if (blocks) pthread_cancel(asker.native_handle());  // who asks before it is closed waits for ever
        asker.join();
        errno = end;
        expect(end == EBADF || (blocks && end == 0), "there is no event, and then no channel");
    }
}

void without_membarrier(const std::string& how) {
    const auto deny = [] { expect(verbline::test::deny_membarrier(), "a filter"); };
    if (how == "before") deny();
    Loop loop;
    if (how == "after") deny();
    loop.expect_traffic("traffic");
}

}  // namespace

int main(int count, char** arguments) {
    const std::string what = count > 1 ? arguments[1] : "", how = count > 2 ? arguments[2] : "";
    const char* const path = count > 3 ? arguments[3] : "";
    const std::map<std::string, std::function<void()>> cases{
        {"child-closes", [&] { child_closes(how); }},
        {"child-uses", [&] { child_uses(how); }},
        {"closes-all", [&] { daemon_closes(how, path); }},
        {"unmapped", [&] { unmapped(how); }},
        {"own-fault", [&] { own_fault(how); }},
        {"remapped", remapped},
        {"closes-in-handler", closes_in_handler},
        {"asks-while-closing", [&] { asks_while_closing(how); }},
        {"no-membarrier", [&] { without_membarrier(how); }},
    };
    const auto found = cases.find(what);
    if (found == cases.end()) return std::fprintf(stderr, "no case `%s`\n", what.c_str()), 2;
    found->second();
    std::puts("ok");
    std::fflush(stdout);
    _exit(0);
}

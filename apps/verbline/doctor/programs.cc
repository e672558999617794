// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/doctor/programs.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/libibverbs/launch/program_file.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::doctor {
namespace {

using Clock = std::chrono::steady_clock;

bool readable(const FileDescriptor& in, Clock::time_point deadline) {
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd wanted{.fd = in.get(), .events = POLLIN, .revents = 0};
        const int ready = left > 0 ? poll(&wanted, 1, static_cast<int>(left)) : 0;
        if (ready >= 0 || errno != EINTR) return ready > 0;
    }
}

/// A child process, killed and waited for at the latest when it goes out of scope.
class Child {
public:
    Child(const std::string& file, std::span<const std::string> words, const FileDescriptor& out) {
        std::vector<char*> arguments;
        for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));  // exec changes nothing
        arguments.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        if (posix_spawn(&id_, file.c_str(), &actions, nullptr, arguments.data(), environ) != 0) id_ = -1;
        posix_spawn_file_actions_destroy(&actions);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        if (id_ < 0) return;
        kill(id_, SIGKILL);
        wait();
    }

    bool started() const { return id_ >= 0; }
    /// Whether it has ended by then.
    bool ends_by(Clock::time_point deadline) const {
        const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, id_, 0)));
        return process && readable(process, deadline);
    }
    /// Whether it ended with status 0; blocks until it ends.
    bool wait() {
        int status = -1;
        while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {}
        id_ = -1;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

private:
    pid_t id_ = -1;
};

/// Everything until the other end is closed.
Result<std::string> read_until(const FileDescriptor& in, Clock::time_point deadline) {
    std::string all;
    std::array<char, 4096> part{};
    for (;;) {
        if (!readable(in, deadline)) return failure(ETIMEDOUT, "did not end in time");
        const auto n = read(in.get(), part.data(), part.size());
        if (n < 0) return failure(EIO, "its output cannot be read");
        if (n == 0) return all;
        all.append(part.data(), static_cast<std::size_t>(n));
        if (all.size() > InstalledPrograms::max_output) return failure(EIO, "prints too much");
    }
}

}  // namespace

Result<std::string> InstalledPrograms::output(std::span<const std::string> words) {
    const auto deadline = Clock::now() + time_limit_;
    const char* path = std::getenv("PATH");
    // The PATH of an ordinary user lacks the directories of programs for administrators.
    const auto file =
        verbs::find_program(words.front(), std::string(path != nullptr ? path : "/usr/bin") + ":/usr/sbin:/sbin");
    if (!file) return failure(ENOENT, file.error().what);
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return failure(EIO, "no pipe can be made");
    const FileDescriptor in(ends[0]);
    std::optional<FileDescriptor> out(ends[1]);
    Child child(file->string(), words, *out);
    out.reset();  // so that the end of the child's output is seen
    if (!child.started()) return failure(EIO, "cannot be started");
    auto printed = read_until(in, deadline);
    if (!printed) return printed;
    if (!child.ends_by(deadline)) return failure(ETIMEDOUT, "did not end in time");
    if (!child.wait()) return failure(EIO, "failed");
    return printed;
}

Result<std::string> NoPrograms::output(std::span<const std::string> /*words*/) {
    return failure(EIO, "was not asked");
}

}  // namespace verbline::doctor

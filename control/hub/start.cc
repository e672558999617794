// SPDX-License-Identifier: BSD-3-Clause
// Starts a hub in the background and waits until it runs or has failed.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "control/hub/client.h"
#include "control/hub/directory.h"
#include "pmd/base/clock.h"

namespace verbline::hub {
namespace {

/// The reader gets the hub's one line of standard output, or end of file.
struct Pipe {
    FileDescriptor reader, writer;

    static Result<Pipe> create() {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) != 0) return failure(errno, std::strerror(errno));
        return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
    }
};

Result<FileDescriptor> open_file(const std::filesystem::path& path, int flags) {
    FileDescriptor fd(open(path.c_str(), flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
    if (!fd) return failure(errno, fmt::format("{}: {}", path.string(), std::strerror(errno)));
    return fd;
}

/// In the child, where nothing but system calls may be made: it may be a copy of a thread among many.
[[noreturn]] void become(char* const* words, int output, int log) {
    setsid();
    if (const auto pid = fork(); pid != 0) _exit(pid < 0 ? 1 : 0);  // double fork: reparented, and no session leader
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0 ||
        chdir("/") != 0) {
        _exit(1);
    }
    // Else a reader of our caller's output would wait for the hub to end.
    close_range(STDERR_FILENO + 1, ~0u, 0);
    execv(words[0], words);
    _exit(1);
}

/// The last line of its output, without the name of the program in front.
std::string last_line(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string line, last;
    while (std::getline(in, line)) last = line.empty() ? last : line;
    constexpr std::string_view speaker = "verbline: ";
    return last.starts_with(speaker) ? last.substr(speaker.size()) : last;
}

/// Until there is a whole line (true) or the other end is closed (false).
Result<bool> await_line(int fd) {
    const Time limit = monotonic_now() + start_limit.count() * second;
    for (;;) {
        const Time left = limit - monotonic_now();
        pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
        const int n = left > 0 ? poll(&one, 1, static_cast<int>(left / millisecond) + 1) : 0;
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return failure(ETIMEDOUT, "");
        std::array<char, 256> text;
        const auto size = ::read(fd, text.data(), text.size());
        if (size <= 0) return false;
        if (std::memchr(text.data(), '\n', static_cast<std::size_t>(size)) != nullptr) return true;
    }
}

Result<void> launch(std::string_view name, const std::string& program) {
    const auto log_path = log_file(name);
    const auto log = open_file(log_path, O_WRONLY | O_TRUNC | O_APPEND);
    if (!log) return std::unexpected(log.error());
    auto output = Pipe::create();
    if (!output) return std::unexpected(output.error());

    std::array<std::string, 3> words{program, "hub", std::string(name)};
    const std::array<char*, 4> argv{words[0].data(), words[1].data(), words[2].data(), nullptr};
    const auto child = fork();
    if (child < 0) return failure(errno, fmt::format("hub `{}` cannot be started: {}", name, std::strerror(errno)));
    if (child == 0) become(argv.data(), output->writer.get(), log->get());
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {}
    output->writer = FileDescriptor();
    const auto ready = await_line(output->reader.get());
    if (!ready) {
        return failure(ETIMEDOUT, fmt::format("hub `{}` is not ready after {} s; see {}", name, start_limit.count(),
                                              log_path.string()));
    }
    if (*ready) return {};
    const auto why = last_line(log_path);
    return failure(ECHILD, fmt::format("hub `{}` cannot be started: {}", name,
                                       why.empty() ? fmt::format("{} ended before it was ready", program) : why));
}

}  // namespace

Result<void> start(std::string_view name, const std::string& program) {
    if (!valid_name(name)) return failure(EINVAL, fmt::format("`{}` is no hub's name", name));
    if (auto made = make_directory(name); !made) return made;
    const auto lock = open_file(directory(name) / "start.lock", O_RDWR);
    if (!lock) return std::unexpected(lock.error());
    // Held for at most `start_limit`; the kernel releases it if the holder is killed.
    while (flock(lock->get(), LOCK_EX) != 0 && errno == EINTR) {}
    if (runs(name)) return {};
    return launch(name, program);
}

}  // namespace verbline::hub

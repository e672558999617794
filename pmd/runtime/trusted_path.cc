// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/runtime/trusted_path.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "pmd/base/file_descriptor.h"

namespace verbline::pmd {
namespace {

namespace fs = std::filesystem;

constexpr unsigned max_links = 40;  // MAXSYMLINKS of Linux

/// Walks a path from the root directory, one component at a time; the kernel follows no links.
class Walk {
public:
    Walk(std::string_view advice, const Trust& trust) : advice_(advice), trust_(trust) {}

    Result<void> run(const fs::path& path) {
        push(path);
        if (auto begun = restart(); !begun) return begun;
        while (!left_.empty()) {
            const auto name = std::move(left_.back());
            left_.pop_back();
            if (name.empty() || name == "." || name == "/") continue;
            if (auto done = step(name); !done) return done;
        }
        return {};
    }

private:
    void push(const fs::path& path) {
        const std::vector<fs::path> parts(path.begin(), path.end());
        left_.insert(left_.end(), parts.rbegin(), parts.rend());
    }

    Result<void> restart() {
        place_ = "/";
        shared_ = false;
        FileDescriptor next(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
        struct stat status{};
        if (!next || fstat(next.get(), &status) != 0) return failed(errno);
        top_ = status.st_uid;
        return enter(std::move(next), status);
    }

    Result<void> step(const fs::path& name) {
        const auto before = std::exchange(place_, name == ".." ? place_.parent_path() : place_ / name);
        FileDescriptor next(openat(at_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
        struct stat status{};
        if (!next || fstat(next.get(), &status) != 0) return failed(errno);
        if (name == "..") shared_ = false;  // its owner was looked at on the way down
        if (!S_ISLNK(status.st_mode)) return enter(std::move(next), status);
        if (auto good = check_owner(status); !good) return good;
        return follow(next, before);
    }

    Result<void> follow(const FileDescriptor& link, const fs::path& directory) {
        std::array<char, PATH_MAX> target{};
        const auto size = readlinkat(link.get(), "", target.data(), target.size() - 1);
        if (size <= 0) return failed(errno);
        if (++links_ > max_links) return failed(ELOOP);
        push(target.data());
        if (target[0] == '/') return restart();
        place_ = directory;
        return {};
    }

    Result<void> enter(FileDescriptor next, const struct stat& status) {
        if (auto good = check_owner(status); !good) return good;
        shared_ = S_ISDIR(status.st_mode) && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
        if (shared_ && (status.st_mode & S_ISVTX) == 0) {
            const bool all = (status.st_mode & S_IWOTH) != 0;
            return refuse(fmt::format("{} may be written to by {}", place_.string(), all ? "anyone" : "its group"));
        }
        at_ = std::move(next);
        return {};
    }

    Result<void> check_owner(const struct stat& status) const {
        const auto owner = status.st_uid;
        if (owner == 0 || owner == geteuid() || owner == trust_.user || (!shared_ && owner == top_)) return {};
        return refuse(fmt::format("{} belongs to user {}", place_.string(), owner));
    }

    std::unexpected<Error> refuse(const std::string& what) const {
        return failure(EPERM, fmt::format("{}, who could take the place of what we look for; {}", what, advice_));
    }
    std::unexpected<Error> failed(int code) const {
        return failure(code, fmt::format("{}: {}", place_.string(), std::strerror(code)));
    }

    const std::string_view advice_;
    const Trust trust_;
    std::vector<fs::path> left_;  ///< components to come, the next one last
    fs::path place_;              ///< where we are, for messages
    FileDescriptor at_;           ///< the directory we are in
    bool shared_ = false;         ///< others may write to it
    uid_t top_ = 0;               ///< owner of the root directory
    unsigned links_ = 0;
};

}  // namespace

Result<void> check_path(const fs::path& path, std::string_view advice, const Trust& trust) {
    std::error_code problem;
    const auto whole = fs::absolute(path, problem);
    if (problem) return failure(problem.value(), fmt::format("{}: {}", path.string(), problem.message()));
    return Walk(advice, trust).run(whole);
}

Result<void> check_server(int socket, const fs::path& path, std::string_view advice, const Trust& trust) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return failure(errno, fmt::format("{}: {}", path.string(), std::strerror(errno)));
    if (peer.uid == 0 || peer.uid == geteuid() || peer.uid == trust.user) return {};
    // In a user namespace without root: its processes appear as what the root directory does.
    struct stat top{};
    if (stat("/", &top) == 0 && peer.uid == top.st_uid) return {};
    return failure(EPERM,
                   fmt::format("{} is served by user {} (process {}); {}", path.string(), peer.uid, peer.pid, advice));
}

}  // namespace verbline::pmd

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A simulated InfiniBand fabric with a real subnet manager, for one test: ibsim and OpenSM as child processes.
///
///     test::Fabric fabric(test::star(4));                     H1 ... H4 on one switch; OpenSM on H1; returns when it
///     is up auto transport = mad::open(fabric.spec("H2"), *loop); fabric.console("Unlink \"H4\"[1]");
///     fabric.sm_kill();  fabric.sm_start();
///
/// Each fabric has a name of its own, so that tests run side by side. Whatever way the test ends, the children die with
/// it and the temporary directory goes. Failures throw std::runtime_error, which fails the test.

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace verbline::test {

/// A topology in which hosts H1 ... Hn hang on one switch.
inline std::string star(unsigned hosts) {
    std::ostringstream text;
    text << "Switch\t" << hosts + 1 << " \"S1\"\n";
    for (unsigned n = 1; n <= hosts; ++n) text << '[' << n << "]\t\"H" << n << "\"[1]\n";
    for (unsigned n = 1; n <= hosts; ++n) text << "\nHca\t2 \"H" << n << "\"\n[1]\t\"S1\"[" << n << "]\n";
    return text.str();
}

/// A child process that is killed when its Child, or the test, goes away.
class Child {
public:
    struct Setup {
        std::vector<std::string> command;
        std::vector<std::pair<std::string, std::string>> environment;
        std::string directory;
        std::string output;  ///< file of stdout and stderr
        int input = -1;      ///< becomes stdin; -1: /dev/null
    };

    Child() = default;
    explicit Child(const Setup& setup) {
        std::vector<char*> arguments;
        for (const auto& word : setup.command) arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        const auto parent = ::getpid();
        pid_ = ::fork();
        if (pid_ < 0) throw std::runtime_error("cannot fork");
        if (pid_ > 0) return;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(127);
        const int output = ::open(setup.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        ::dup2(setup.input >= 0 ? setup.input : ::open("/dev/null", O_RDONLY), 0);
        ::dup2(output, 1);
        ::dup2(output, 2);
        for (const auto& [name, value] : setup.environment) ::setenv(name.c_str(), value.c_str(), 1);
        if (::chdir(setup.directory.c_str()) == 0) ::execvp(arguments[0], arguments.data());
        ::_exit(127);
    }
    Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
    Child& operator=(Child&& other) noexcept {
        end(SIGKILL);
        pid_ = std::exchange(other.pid_, -1);
        return *this;
    }
    ~Child() { end(SIGKILL); }

    void end(int signal) {
        if (pid_ <= 0) return;
        ::kill(pid_, signal);
        ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    }
    bool alive() {
        if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
        return pid_ > 0;
    }
    /// Waits for the process to end by itself; its exit code, or -1.
    int wait() {
        int status = 0;
        if (pid_ <= 0 || ::waitpid(std::exchange(pid_, -1), &status, 0) < 0) return -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    pid_t pid() const { return pid_; }

private:
    pid_t pid_ = -1;
};

struct FabricOptions {
    std::string sm_host = "H1";
    std::string partitions = "Default=0x7fff, ipoib, defmember=full : ALL=full, ALL_SWITCHES=full, SELF=full;\n";
    std::vector<std::string> opensm_arguments = {};
    bool start_sm = true;
};

class Fabric {
public:
    static constexpr auto patience = std::chrono::seconds(20);
    static constexpr const char* preload = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so";

    explicit Fabric(const std::string& topology, FabricOptions options = {}) : options_(std::move(options)) {
        make_directory();
        write("topology", topology);
        write("partitions.conf", options_.partitions);
        write("opensm.conf", "force_log_flush TRUE\nsweep_interval 0\n");
        ibsim_start();
        if (options_.start_sm) sm_start();
    }
    Fabric(const Fabric&) = delete;
    Fabric& operator=(const Fabric&) = delete;
    ~Fabric() {
        opensm_.end(SIGKILL);
        ibsim_.end(SIGKILL);
        ::close(console_);
        ::close(sweeper_pipe_);
        sweeper_.wait();
    }

    /// IBSIM_SOCKNAME of this fabric.
    const std::string& name() const { return name_; }
    std::string spec(const std::string& host) const { return "ibsim:" + name_ + ",host=" + host; }
    std::string path(const std::string& file) const { return directory_ + "/" + file; }
    const std::string& directory() const { return directory_; }

    /// What a libibumad program needs to run as `host` of this fabric.
    std::vector<std::pair<std::string, std::string>> environment(const std::string& host) const {
        return {{"IBSIM_SOCKNAME", name_},
                {"SIM_HOST", host},
                {"LD_PRELOAD", preload},
                {"OSM_TMP_DIR", directory_},
                {"OSM_CACHE_DIR", directory_}};
    }

    /// Returns when the subnet is up.
    void sm_start() {
        sm_launch();
        await("the subnet to come up", [&] { return contains("opensm.log", "SUBNET UP"); }, opensm_);
    }
    /// Returns at once.
    void sm_launch() {
        std::filesystem::remove(path("opensm.log"));
        std::vector<std::string> command = {"/usr/sbin/opensm", "-F", path("opensm.conf"),    "-f",
                                            path("opensm.log"), "-P", path("partitions.conf")};
        command.insert(command.end(), options_.opensm_arguments.begin(), options_.opensm_arguments.end());
        opensm_ = Child({.command = std::move(command),
                         .environment = environment(options_.sm_host),
                         .directory = directory_,
                         .output = path("opensm.out")});
    }
    /// As kill -9 does it: nothing is said to anybody.
    /// The subnet manager reads its partitions again.
    void assign(const std::string& partitions) {
        write("partitions.conf", partitions);
        ::kill(opensm_.pid(), SIGHUP);
    }
    void sm_kill() { opensm_.end(SIGKILL); }
    /// One more line of the subnet manager's configuration, which it reads when it starts.
    void configure(const std::string& line) const { std::ofstream(path("opensm.conf"), std::ios::app) << line << '\n'; }

    /// The whole fabric is killed, manager and simulator; and starts again under the same name.
    void crash() {
        opensm_.end(SIGKILL);
        ibsim_.end(SIGKILL);
    }
    void revive() {
        ibsim_start();
        sm_start();
    }

    /// A command of ibsim's console: `Unlink "H4"[1]`, `ReLink "H4"[1]`, `attached`. Returns what it printed.
    std::string console(const std::string& command) {
        const auto before = contents("ibsim.out").size();
        const auto line = command + "\n";
        if (::write(console_, line.data(), line.size()) < 0) throw std::runtime_error("ibsim is gone");
        await(
            "ibsim's console",
            [&] {
                return contents("ibsim.out").find("sim> ", before) != std::string::npos;  // warnings may come after it
            },
            ibsim_);
        return contents("ibsim.out").substr(before);
    }

    std::string contents(const std::string& file) const {
        std::ifstream in(path(file));
        return {std::istreambuf_iterator<char>(in), {}};
    }

private:
    void ibsim_start() {
        std::filesystem::remove(path("ibsim.out"));
        std::array<int, 2> pipe{};
        if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
        // ibsim spins on a stdin at its end: the pipe stays open as long as we live.
        if (console_ >= 0) ::close(console_);
        console_ = pipe[1];
        ibsim_ = Child({.command = {"ibsim", "-s", path("topology")},
                        .environment = {{"IBSIM_SOCKNAME", name_}},
                        .directory = directory_,
                        .output = path("ibsim.out"),
                        .input = pipe[0]});
        ::close(pipe[0]);
        await("ibsim to start", [&] { return contains("ibsim.out", "simulator ready"); }, ibsim_);
    }

    void make_directory() {
        std::string name = (std::filesystem::temp_directory_path() / "verbline-fabric-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
        directory_ = name;
        name_ = "verbline-" + std::to_string(::getpid()) + "-" + name.substr(name.size() - 6);
        // Reads to the end of a pipe that only we hold open, then sweeps: also when we are killed.
        std::array<int, 2> pipe{};
        if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
        sweeper_pipe_ = pipe[1];
        sweeper_ = Sweeper(pipe[0], directory_);
        ::close(pipe[0]);
    }

    class Sweeper {
    public:
        Sweeper() = default;
        Sweeper(int input, const std::string& directory) : pid_(::fork()) {
            if (pid_ != 0) return;
            ::setsid();  // not to be interrupted with the test
            ::dup2(input, 0);
            ::execl("/bin/sh", "sh", "-c", "cat >/dev/null; sleep 0.1; rm -rf \"$1\"", "sh", directory.c_str(),
                    nullptr);
            ::_exit(127);
        }
        void wait() {
            if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), nullptr, 0);
        }

    private:
        pid_t pid_ = -1;
    };

    void write(const std::string& file, const std::string& text) const { std::ofstream(path(file)) << text; }
    bool contains(const std::string& file, const std::string& text) const {
        return contents(file).find(text) != std::string::npos;
    }
    void await(const char* what, const std::function<bool()>& done, Child& child) const {
        const auto end = std::chrono::steady_clock::now() + patience;
        while (!done()) {
            if (!child.alive())
                throw std::runtime_error(std::string("while waiting for ") + what + ", the process died");
            if (std::chrono::steady_clock::now() > end)
                throw std::runtime_error(std::string("waited in vain for ") + what);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    }

    FabricOptions options_;
    std::string name_, directory_;
    int console_ = -1, sweeper_pipe_ = -1;
    Sweeper sweeper_;
    Child ibsim_, opensm_;
};

}  // namespace verbline::test

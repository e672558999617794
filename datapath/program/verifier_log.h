// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Why rte_bpf refuses a program: it says so in DPDK's log alone.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <rte_log.h>

namespace verbline::program {

/// While an object of `Listen` exists, DPDK's log goes here. Its stream stays open as long as the log exists: another
/// thread may be writing to it, having found it just before. So the log must outlive the threads that write to DPDK's.
class VerifierLog {
public:
    VerifierLog() : stream_(open_memstream(&text_, &size_)) {}
    VerifierLog(const VerifierLog&) = delete;
    VerifierLog& operator=(const VerifierLog&) = delete;
    ~VerifierLog() {
        if (stream_ != nullptr) std::fclose(stream_);
        std::free(text_);
    }

    class Listen {
    public:
        explicit Listen(VerifierLog& log) : log_(log) {
            if (log_.stream_ == nullptr) return;
            std::rewind(log_.stream_);
            rte_openlog_stream(log_.stream_);
        }
        Listen(const Listen&) = delete;
        Listen& operator=(const Listen&) = delete;
        ~Listen() { rte_openlog_stream(nullptr); }

    private:
        VerifierLog& log_;
    };

    /// The last line of the last `Listen`; empty if there is none.
    std::string last_line() const {
        if (stream_ == nullptr || std::fflush(stream_) != 0) return {};
        std::string_view lines(text_, size_);
        while (lines.ends_with('\n')) lines.remove_suffix(1);
        return std::string(lines.substr(lines.rfind('\n') + 1));
    }

private:
    char* text_ = nullptr;
    std::size_t size_ = 0;
    std::FILE* stream_;
};

}  // namespace verbline::program

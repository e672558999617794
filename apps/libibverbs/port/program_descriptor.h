// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A descriptor that the program has from us, to sleep on: a number of its own for a file of which we keep another.
///
/// The program may close its number, or put another file there, and we must neither write to that nor close it. So we
/// use ours alone, and at the end close the program's number only where our file still is behind it.

#include <utility>

#include "pmd/base/file_descriptor.h"

namespace verbline::verbs {

class ProgramDescriptor {
public:
    ProgramDescriptor() = default;
    /// `ours` is a new file; none: errno says why, as when there is no second number (then there is neither).
    /// `close_on_exec` of the program's number.
    explicit ProgramDescriptor(FileDescriptor ours, bool close_on_exec = true);
    ProgramDescriptor(ProgramDescriptor&& other) noexcept
        : ours_(std::move(other.ours_)),
          programs_(std::exchange(other.programs_, -1)),
          program_closes_(other.program_closes_) {}
    ProgramDescriptor& operator=(ProgramDescriptor&& other) noexcept {
        std::swap(ours_, other.ours_);
        std::swap(programs_, other.programs_);
        std::swap(program_closes_, other.program_closes_);
        return *this;
    }
    ~ProgramDescriptor();

    explicit operator bool() const { return programs_ >= 0; }
    int ours() const { return ours_.get(); }
    int programs() const { return programs_; }
    /// Whether the program's number still is our file. Two system calls at most.
    bool intact() const;
    /// The program closes its number itself.
    void disown() { program_closes_ = true; }

private:
    FileDescriptor ours_;
    int programs_ = -1;
    bool program_closes_ = false;
};

}  // namespace verbline::verbs

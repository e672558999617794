// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// When a busy shard leaves out devices whose every read is a system call (`lossless_rx`: tun, tap), as one that finds
/// nothing costs as much as several packets: for a few polls after such a read. A device with packets is read in each
/// poll, and so is every device when the shard has nothing else to do; what comes after a silence waits for that many
/// polls at most, some tens of microseconds.

namespace verbline::router {

class ReadPause {
public:
    static constexpr unsigned polls = 8;

    /// Whether to leave the device out of this poll. `busy`: the shard found something in its last poll.
    bool skips(bool busy) {
        if (!busy || left_ == 0) return false;
        --left_;
        return true;
    }
    /// After each read.
    void note(bool found) { left_ = found ? 0 : polls; }

private:
    unsigned left_ = 0;
};

}  // namespace verbline::router

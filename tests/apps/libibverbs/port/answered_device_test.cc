// SPDX-License-Identifier: BSD-3-Clause
// A file that is closed while a thread uses it: that thread is the last to let go of it.
#include "apps/libibverbs/port/answered_device.h"

#include <atomic>
#include <memory>

#include <pthread.h>

#include <gtest/gtest.h>

namespace verbline::verbs {
namespace {

constexpr int answered_number = 900;

/// Where it ends a thread may be cancelled, as where a descriptor is closed.
struct CancellableFile {
    explicit CancellableFile(std::atomic<bool>& flag) : gone(flag) {}
    CancellableFile(const CancellableFile&) = delete;
    CancellableFile& operator=(const CancellableFile&) = delete;
    ~CancellableFile() {
        pthread_testcancel();
        gone = true;
    }
    static int descriptor() { return answered_number; }

    std::atomic<bool>& gone;
    CancellableFile* next_closing = nullptr;
};

class CancellableDevice : public AnsweredDevice<CancellableDevice, CancellableFile> {
public:
    using AnsweredDevice::add, AnsweredDevice::close_later, AnsweredDevice::find, AnsweredDevice::take_closing;
};

struct Use {
    CancellableDevice device;
    std::atomic<bool> found = false, cancelled = false;
};

/// Uses the file until it is cancelled, which it notices behind that.
void* use_file(void* argument) {
    auto& use = *static_cast<Use*>(argument);
    {
        const auto file = use.device.find(answered_number);
        use.found = true;
        while (!use.cancelled) {}
    }
    pthread_testcancel();
    return nullptr;
}

TEST(AnsweredDevice, LettingGoOfAFileIsNoCancellationPoint) {
    std::atomic<bool> gone = false;
    Use use;
    ASSERT_TRUE(use.device.add(std::make_shared<CancellableFile>(gone)));
    pthread_t user{};
    ASSERT_EQ(pthread_create(&user, nullptr, use_file, &use), 0);
    while (!use.found) {}
    use.device.close_later(*use.device.find(answered_number));
    use.device.take_closing([](const CancellableFile&) {});
    EXPECT_FALSE(gone) << "it is in use";
    pthread_cancel(user);
    use.cancelled = true;
    void* result = nullptr;
    pthread_join(user, &result);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace verbline::verbs

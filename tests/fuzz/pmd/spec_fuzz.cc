// SPDX-License-Identifier: BSD-3-Clause
// Whatever is written as a device or an impairment is understood or refused in one line.
#include <string_view>

#include "pmd/factory/device_spec.h"
#include "pmd/impair/spec.h"
#include "tests/fuzz/datapath/packets.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace verbline;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const bool one_line = !text.contains('\n');
    if (const auto spec = pmd::parse_device_spec(text); !spec) {
        fuzz::expect(!one_line || !spec.error().what.contains('\n'));
    }
    const auto impairments = pmd::parse_impairments(text);
    if (!impairments) {
        fuzz::expect(!one_line || !impairments.error().what.contains('\n'));
        return 0;
    }
    for (const auto& direction : {impairments->rx, impairments->tx}) {
        fuzz::expect(direction.loss >= 0 && direction.loss <= 1 && direction.delay >= 0 && direction.jitter >= 0);
    }
    return 0;
}

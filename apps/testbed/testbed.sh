# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# All of the test bed, for a script to source.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/apps/testbed/say.sh"
source "$root/apps/testbed/packages.sh"
source "$root/apps/testbed/processes.sh"
source "$root/apps/testbed/fabric.sh"
source "$root/apps/testbed/network.sh"
source "$root/apps/testbed/measure.sh"

#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every test of the project: see usage() below and tests/README.md.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../apps/testbed/testbed.sh"

only='*' quick=0 all=0 bare=0 fuzz_seconds=4 soak_minutes=1
passed=0 failed=0 skipped=0
asan_tests=() tsan_tests=() fuzz_targets=()
beside=() # PID -> name of the system tests that run
ahead=''  # the process that builds what is needed later
logs=$root/build/test-logs
# Tests that run threads beside each other, for the thread sanitizer; with --all also those that need nearly all folders built.
threaded='datapath/memory datapath/transport datapath/rdma datapath/ipoib datapath/router control/loop pmd/tun pmd/capture pmd/rss pmd/shard'
# System tests that measure rates or the CPU that something takes, have many programs at a time, or are a machine of their own.
undisturbed='bench_ipoib bench_offloads bench_packet bench_packet_rfc2544 bench_rdma bench_timestamps gateway_bond gateway_pair gateway_pair_cut gateway_soak hub_shards idle packages shards soak stalled_shard systemd verbs_busy verbs_programs'

usage() {
    cat <<'END'
usage: sudo tests/run.sh [--only GLOB] [--quick | --all | --bare] [--fuzz-seconds N] [--soak MINUTES]

Installs what the tests need, builds, runs every test and prints how many passed. The kinds, in this order:

  check/...    the sources: licence, format, includes, dependencies, headers, scripts, clang-tidy
  system/...   real OpenSM, gateway, hosts, kernel TCP, RDMA processes in network namespaces, with the release build
  asan/...     the unit tests, which mirror the sources, under AddressSanitizer and UndefinedBehaviorSanitizer
  tsan/...     those of them with threads under ThreadSanitizer
  fuzz/...     the parsers on mutated input under AddressSanitizer and UndefinedBehaviorSanitizer
  unit/...     the unit tests of the release build; without --quick or --all only the simulations, 10,000 schedules
  bare/...     README's commands, each on a Debian 12 on which nothing is installed; only with --all or --bare

  --only GLOB        those whose name matches, e.g. 'system/*' or 'unit/datapath/wire'
  --quick            without sanitizers, fuzzing and clang-tidy; the unit tests are those of the release build
  --all              the unit tests and benchmarks of the release build as well, headers of tests, all of clang-tidy,
                     ten minutes of system/gateway_soak, and bare/...: three times the time
  --bare             only bare/..., which takes an hour
  --fuzz-seconds N   for each fuzz target (4); what it finds is kept in build-asan/fuzz
  --soak MINUTES     how long system/soak goes on (1)
END
}

parse_arguments() {
    while (($#)); do
        case $1 in
            --only) only=${2:?--only needs a pattern} && shift ;;
            --quick) quick=1 ;;
            --all) all=1 ;;
            --bare) bare=1 only='bare/*' ;;
            --fuzz-seconds) fuzz_seconds=${2:?--fuzz-seconds needs a number} && shift ;;
            --soak) soak_minutes=${2:?--soak needs a number} && shift ;;
            -h | --help) usage && exit 0 ;;
            *) usage >&2 && exit 2 ;;
        esac
        shift
    done
}

# wanted NAME
# shellcheck disable=SC2053 # a pattern
wanted() { [[ $1 == $only ]]; }

# --- one test ---------------------------------------------------------------------------------------------------------------

# finished NAME STATUS LOG SECONDS: counts it; 77 means that it could not run here and its last line says why.
finished() {
    local result
    case $2 in
        0) result="${green}passed$plain" && passed=$((passed + 1)) ;;
        77) result="skipped: $(tail -n 1 "$3")" && skipped=$((skipped + 1)) ;;
        *) result="${red}failed$plain" && failed=$((failed + 1)) ;;
    esac
    printf '    %-36s %8.1f s  %s\n' "$1" "$4" "$result"
    case $2 in
        0 | 77) ;;
        124 | 137) sed 's/^/        /' "$3" && echo "        it took too long and was ended" ;;
        *) sed 's/^/        /' "$3" ;;
    esac
}

# run NAME LIMIT COMMAND...: its output, status and how long it took are left in files.
run() {
    local name=${1//\//-} limit=$2 status=0 began=${EPOCHREALTIME/[.,]/}
    shift 2
    timeout -k 10 "$limit" "$@" >"$logs/$name.log" 2>&1 || status=$?
    echo "$status $(seconds_since "$began")" >"$logs/$name.result"
}

# ran NAME: counts what `run` has left.
ran() {
    local name=${1//\//-} status seconds
    read -r status seconds <"$logs/$name.result"
    finished "$1" "$status" "$logs/$name.log" "$seconds"
}

# run_test NAME LIMIT COMMAND...
run_test() {
    run "$@"
    ran "$1"
}

# --- builds -----------------------------------------------------------------------------------------------------------------

# set_up DIRECTORY OPTION...: configures a build, or gives an old one these options.
set_up() {
    local directory=$1 log=$logs/setup-${1##*/}.log
    shift
    if [[ -e $directory/build.ninja ]]; then
        { meson configure "$directory" "$@" && ninja -C "$directory" build.ninja; } >"$log" 2>&1 ||
            die "meson could not configure $directory" "$log"
    else
        meson setup "$directory" "$root" "$@" >"$log" 2>&1 || die "meson could not set up $directory" "$log"
    fi
}

# A failed build counts as one failed test; what needs it is not run.
build() {
    local directory=$1 name=build/$1 log=$logs/${1##*/}.log began=${EPOCHREALTIME/[.,]/}
    shift
    if ninja_with_progress "$directory" "$log" "$@"; then
        note "built in $(seconds_since "$began") s"
    else
        # A redefinition in a unity build: two of the files that are compiled as one have a helper of that name.
        grep -v '^\[' "$log" >"$log.short" || true
        finished "$name" 1 "$log.short" "$(seconds_since "$began")"
        return 1
    fi
}

# set_up_sanitized DIRECTORY FLAGS OPTION...
set_up_sanitized() {
    local directory=$1 flags=$2
    shift 2
    # Line tables only, -O1, and LLVM's linker: the build is what takes the time. Warnings are the release build's to make errors of:
    # clang also has some about GCC's own headers.
    CXX_LD=lld CXX="$(command -v ccache) clang++-19" CXXFLAGS="-gline-tables-only $flags" \
        set_up "$directory" -Db_lto=false -Doptimization=1 -Ddebug=false -Dwerror=false -Dbench=false "$@"
}

# programs DIRECTORY TEST...: what these unit tests need built, as ninja names it.
programs() {
    local directory=$1 needed
    shift
    needed=$(meson introspect --tests "$directory" |
        jq '[.[] | select(.name | IN($ARGS.positional[])) | .depends[]] | unique' --args "$@")
    meson introspect --targets "$directory" | jq -r --arg build "$root/$directory/" --argjson needed "$needed" \
        '.[] | select((.type | IN("executable", "shared module", "shared library", "custom")) and (.id | IN($needed[]))) | .filename[0] | ltrimstr($build)'
}

# --- the kinds of tests -----------------------------------------------------------------------------------------------------

# source_files: every file of the project, as git sees it.
source_files() {
    git -c safe.directory='*' ls-files -co --exclude-standard | while read -r file; do [[ ! -e $file ]] || echo "$file"; done
}

# checks NAME...
checks() {
    local name
    for name in "$@"; do
        wanted "check/$name" || continue
        run_test "check/$name" 900 "tests/check/$name" <"$logs/sources"
    done
}

# unit_tests KIND DIRECTORY TEST...: builds and runs those of the tests that are wanted; counts every case.
unit_tests() {
    local kind=$1 directory=$2 selected=() targets=() name status=0 log=$logs/$1.log
    for name in "${@:3}"; do
        ! wanted "$kind/$name" || selected+=("$name")
    done
    ((${#selected[@]})) || return 0
    mapfile -t targets < <(programs "$directory" "${selected[@]}")
    build "$directory" "${targets[@]}" || return 0
    rm -f "$directory"/meson-logs/testlog.*
    timeout -k 10 1500 meson test -C "$directory" --no-rebuild "${selected[@]}" >"$log" 2>&1 || status=$?
    count_cases "$kind" "$directory" "$log" "$status"
}

# count_cases KIND DIRECTORY LOG STATUS
count_cases() {
    local status name text ok=0 bad=0 # a run that failed and names no case is one
    while IFS=$'\t' read -r status name text; do
        case $status in
            passed) ok=$((ok + 1)) ;;
            skipped)
                skipped=$((skipped + 1))
                note "skipped $1/$name: $text"
                ;;
            *)
                bad=$((bad + 1))
                printf '    %sfailed%s %s\n%b\n' "$red" "$plain" "$1/$name" "$text"
                ;;
        esac
    done < <(tests/cases.py "$2")
    if ((ok + bad == 0 || ($4 != 0 && bad == 0))); then
        bad=$((bad + 1))
        tail -n 50 "$3"
    fi
    note "$1: $ok passed, $bad failed"
    passed=$((passed + ok)) failed=$((failed + bad))
}

# fuzz NAME...: as many at a time as there are cores.
fuzz() {
    local name
    for name in "$@"; do
        while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
        fuzz_one "$name" &
    done
    wait
    for name in "$@"; do
        finished "fuzz/$name" "$(<"$logs/fuzz-$name.status")" "$logs/fuzz-$name.log" "$fuzz_seconds"
    done
}

# fuzz_one NAME: new finds go to the build directory; those of tests/fuzz/corpus are where it starts. What was kept is run first, in
# time of its own: after a long night there is a lot.
fuzz_one() {
    local kept=$root/tests/fuzz/corpus/$1 new=$root/build-asan/fuzz/corpus/$1 crashes=$root/build-asan/fuzz/crashes status=0
    mkdir -p "$new" "$crashes"
    [[ -d $kept ]] || kept=
    timeout -k 10 $((fuzz_seconds + 300)) "build-asan/tests/fuzz/fuzz_$1" -max_total_time="$fuzz_seconds" -timeout=10 \
        -rss_limit_mb=2048 -artifact_prefix="$crashes/$1-" "$new" ${kept:+"$kept"} >"$logs/fuzz-$1.log" 2>&1 || status=$?
    echo "$status" >"$logs/fuzz-$1.status"
}

# why_no_system_tests: nothing if they can run.
why_no_system_tests() {
    if ((EUID != 0)); then
        echo "network namespaces need root"
    elif [[ ! -c /dev/net/tun ]]; then
        echo "there is no /dev/net/tun"
    fi
}

# system_tests NAME...: as many at a time as there are CPUs, for they wait more than they do; then those that measure what the
# machine gives, or are a machine of their own, one after the other.
system_tests() {
    local name why alone=()
    why=$(why_no_system_tests)
    export VERBLINE_SOAK_SECONDS=$((soak_minutes * 60)) VERBLINE_GATEWAY_SOAK_SECONDS=$((all ? 600 : 30))
    for name in "$@"; do
        if [[ -n $why ]]; then
            echo "$why" >"$logs/why"
            finished "system/$name" 77 "$logs/why" 0
        elif [[ " $undisturbed " == *" $name "* ]]; then
            alone+=("$name")
        else
            while ((${#beside[@]} >= $(nproc))); do await_system_test; done
            system_test "$name" &
            beside[$!]=$name
        fi
    done
    while ((${#beside[@]})); do await_system_test; done
    for name in "${alone[@]}"; do
        system_test "$name" &
        beside[$!]=$name
        await_system_test
    done
}

# system_test NAME: run in a bed of its own.
system_test() {
    local name=$1 limit=400 # for a machine that is slow, or has other work: most take less than a minute
    [[ $name != packages ]] || limit=600 # half a minute of packing and as much of lintian, on a machine that has time
    [[ $name != soak ]] || limit=$((VERBLINE_SOAK_SECONDS + 240))
    [[ $name != gateway_soak ]] || limit=$((VERBLINE_GATEWAY_SOAK_SECONDS + 120))
    VERBLINE_BED=/run/verbline/test-$$-$name run "system/$name" "$limit" "tests/system/$name"
    apps/testbed/close "/run/verbline/test-$$-$name" # should it have been killed
}

# await_system_test: one of those that run has ended.
await_system_test() {
    local ended name
    wait -n -p ended "${!beside[@]}" || true
    name=${beside[$ended]}
    unset "beside[$ended]"
    ran "system/$name"
}

# bare_tests: one after the other, as each is a whole machine's work.
bare_tests() {
    local name names=()
    ((all || bare)) || [[ $only == bare/* ]] || return 0
    mapfile -t names < <(wanted_files bare 'tests/bare/*')
    ((${#names[@]})) || return 0
    step "on a bare machine"
    install_packages bare
    for name in "${names[@]}"; do run_test "bare/$name" 5400 "tests/bare/$name"; done
}

# close_dead_beds: of runs that were killed.
close_dead_beds() {
    local bed
    for bed in /run/verbline/test-*; do
        [[ ! -d $bed ]] || process_pid owner >/dev/null || apps/testbed/close "$bed"
    done
}

# wanted_files KIND PATTERN: the names of the tests of that kind that are executables of a folder.
wanted_files() {
    local file
    for file in $2; do
        # What has a suffix is a part of a test.
        if [[ -f $file && -x $file && ${file##*/} != *.* ]] && wanted "$1/${file##*/}"; then echo "${file##*/}"; fi
    done
}

# --- all --------------------------------------------------------------------------------------------------------------------

run_release() {
    local units=() system=() programs=()
    mapfile -t system < <(wanted_files system 'tests/system/*')
    step "release build and its unit tests"
    mapfile -t units < <(meson introspect --tests build | jq -r '.[].name')
    if ((!quick && !all)) && [[ $only != unit/* ]]; then
        mapfile -t units < <(printf '%s\n' "${units[@]}" | grep -E '^sim|many_queue_pairs')
    fi
    unit_tests unit build "${units[@]}"
    # What the simulations went through.
    grep -h --no-group-separator -A4 '^[0-9]* schedules,' build/meson-logs/testlog.txt 2>/dev/null | sed 's/^/    /' || true
    # What of the release build is not a test: the program and the library for programs, and drivers that tests load; the benchmarks
    # take as long again.
    local kept='/(apps|tests/drivers)/'
    ((!all)) || kept='/(apps|bench|tests/drivers)/'
    mapfile -t programs < <(meson introspect --targets build |
        jq -r --arg kept "$kept" '.[] | select(.type == "executable" or .type == "shared library" or .type == "shared module" or .name == "libverbline.a") | .filename[0] | select(test($kept))' |
        sed "s|^$root/build/||")
    if ((${#system[@]})) || [[ $only == '*' ]]; then build build "${programs[@]}" || return 0; fi
    ((${#system[@]})) || return 0
    step "system tests"
    build_ahead
    system_tests "${system[@]}"
    stop_building_ahead
}

# set_up_asan, set_up_tsan: configure the build, and list the tests and fuzz targets of it that are run.
set_up_asan() {
    # Coverage in the libraries is what the fuzz targets steer by.
    set_up_sanitized build-asan -fsanitize=fuzzer-no-link -Dsanitize=address,undefined -Dfuzz=true
    mapfile -t asan_tests < <(meson introspect --tests build-asan | jq -r '.[].name')
    mapfile -t fuzz_targets < <(meson introspect --targets build-asan |
        jq -r '.[] | select(.type == "executable") | .name | select(startswith("fuzz_")) | ltrimstr("fuzz_")')
}

set_up_tsan() {
    set_up_sanitized build-tsan '' -Dsanitize=thread
    # Some run in several parts: NAME-0, NAME-1, ...
    mapfile -t tsan_tests < <(meson introspect --tests build-tsan | jq -r --arg threaded "$threaded" \
        '.[].name | select(sub("-[0-9]+$"; "") | IN($threaded | splits(" ")))')
}

# build_ahead: begins what run_sanitized builds, at idle priority: the system tests mostly wait, and these builds take the longest.
# Where the kernel groups the processes of a session (sched(7), autogroup), priorities count within the group alone, and the groups
# share the CPU evenly: the group as a whole must have the least weight.
build_ahead() {
    local asan tsan
    ((!quick)) && [[ $only == '*' ]] || return 0
    set_up_asan
    set_up_tsan
    mapfile -t asan < <(programs build-asan "${asan_tests[@]}")
    mapfile -t tsan < <(programs build-tsan "${tsan_tests[@]}")
    # shellcheck disable=SC2016 # expanded by that shell
    chrt --idle 0 setsid bash -c 'trap exit TERM; { echo 19 >/proc/self/autogroup; } 2>/dev/null; ninja -j $3 -k 0 -C build-asan $1; ninja -j $3 -k 0 -C build-tsan $2' - \
        "${asan[*]} ${fuzz_targets[*]/#/tests/fuzz/fuzz_}" "${tsan[*]}" "$(nproc)" >"$logs/ahead.log" 2>&1 &
    ahead=$!
}

# stop_building_ahead: run_sanitized goes on from there; of what failed it tells.
stop_building_ahead() {
    [[ -n $ahead ]] || return 0
    kill -TERM -- "-$ahead" 2>/dev/null || true
    wait "$ahead" || true
    ahead=''
}

run_sanitized() {
    local targets=() name
    step "AddressSanitizer and UndefinedBehaviorSanitizer"
    set_up_asan
    unit_tests asan build-asan "${asan_tests[@]}"
    step "fuzzing, $fuzz_seconds s for each target"
    for name in "${fuzz_targets[@]}"; do ! wanted "fuzz/$name" || targets+=("$name"); done
    if ((${#targets[@]})) && build build-asan "${targets[@]/#/tests/fuzz/fuzz_}"; then fuzz "${targets[@]}"; fi
    step "ThreadSanitizer"
    set_up_tsan
    unit_tests tsan build-tsan "${tsan_tests[@]}"
}

# tally: the last line, whatever happened.
tally() {
    local status=$? pid
    stop_building_ahead
    for pid in "${!beside[@]}"; do pkill -TERM -P "$pid" || true; done
    ((status == 0 || failed > 0)) || failed=1
    ((skipped == 0)) && skipped='' || skipped=", $skipped skipped"
    echo "$passed passed, $failed failed$skipped"
    ((failed == 0 && passed > 0)) || exit 1
}

main() {
    parse_arguments "$@"
    cd "$root"
    trap tally EXIT
    trap 'exit 130' INT TERM HUP
    mkdir -p "$logs"
    if [[ $only == bare/* ]]; then
        bare_tests
        return
    fi
    step "packages"
    install_packages run test
    close_dead_beds
    source_files >"$logs/sources"
    if ((all)); then
        export VERBLINE_ALL=1 # also what check/headers and check/tidy leave out
        threaded+=' control/cm control/telemetry apps/libibverbs/port'
    fi
    set_up build -Dbuildtype=release -Dtests=true -Dbench=true -Ddevel=true -Dnet_ipoib=auto
    step "the sources"
    checks spdx readmes paths links names includes arrows devargs format shell doxygen headers
    run_release
    if ((!quick)); then
        run_sanitized
        step "clang-tidy"
        checks tidy
    fi
    bare_tests
}

main "$@"

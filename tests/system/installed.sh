# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# An installed tree of the build that is tested, in the bed.

# build_installed: all that is installed is built; the build's other targets, the tests among them, are left alone.
build_installed() {
    local build=${verbline%/apps/verbline/verbline} files
    [[ $(build_option "$build" devel) == true ]] || { echo "$build is configured without -Ddevel=true" && exit 77; }
    mapfile -t files < <(meson introspect --installed "$build" | jq -r --arg build "$(realpath "$build")/" \
        'keys[] | select(startswith($build)) | ltrimstr($build) | select(test("\\.so\\.1$|^meson-private/") | not)')
    ninja -C "$build" "${files[@]}" >"$bed/install.log" 2>&1 || die "what is to be installed cannot be built" "$bed/install.log"
}

# install_tree: leaves it in $installed, what is below it in $prefix_directory and $libdir, and the program in $installed_verbline.
install_tree() {
    local build=${verbline%/apps/verbline/verbline}
    build_installed
    installed=$bed/installed
    prefix_directory=$(build_option "$build" prefix)
    libdir=$(build_option "$build" libdir)
    meson install -C "$build" --no-rebuild --destdir "$installed" >"$bed/install.log" 2>&1 ||
        die "meson install failed" "$bed/install.log"
    # shellcheck disable=SC2034 # for the test
    installed_verbline=$installed$prefix_directory/bin/verbline
}

# build_option BUILD NAME
build_option() { meson introspect --buildoptions "$1" | jq -r --arg name "$2" '.[] | select(.name == $name) | .value'; }

# use_installed_library: from now on pkg-config finds it where it lies, and not where it would lie without the directory before.
use_installed_library() {
    mkdir -p "$bed/pkgconfig"
    sed "s|^prefix=|&$installed|" "$installed$prefix_directory/$libdir/pkgconfig/verbline.pc" >"$bed/pkgconfig/verbline.pc"
    export PKG_CONFIG_PATH=$bed/pkgconfig
}

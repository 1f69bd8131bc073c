#!/bin/sh
# Usage: check.sh [isolation]
# Looks for what building and running need; with `isolation` also for the namespaces that pipelines run in. At once.
set -eu
. "$(dirname -- "$0")/lib.sh"

# What the state-store-writer's `git repack --geometric` needs.
git_minimum=2.32

has cargo || fail "there is no cargo" \
    "install Rust $(sed -n 's/^channel = "\(.*\)"/\1/p' "$root/rust-toolchain.toml") (rustup picks the version by itself)"
rust_minimum=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$root/Cargo.toml")
rust=$(cd "$root" && rustc --version | cut -d' ' -f2)
[ -n "$rust" ] || fail "rustc does not run in $root" \
    "install the toolchain that rust-toolchain.toml names: \`rustup toolchain install\` in that directory"
at_least "$rust" "$rust_minimum" || fail "rustc $rust is too old" "install Rust $rust_minimum or newer"

has cc || fail "there is no C compiler (cc), which links every Rust program" \
    "install gcc or clang (Debian: apt-get install gcc libc6-dev)"

has git || fail "there is no git, with which outputs are written" "install git (Debian: apt-get install git)"
git=$(git --version | cut -d' ' -f3)
at_least "$git" "$git_minimum" || fail "git $git is too old" "install git $git_minimum or newer"

if [ "${1:-}" = isolation ] && has unshare; then
    unshare -Urm true 2>/dev/null || fail "user namespaces, in which pipelines run, are not available" \
        "sysctl kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0 (in a container: a \
seccomp profile that permits them), or run pipelines as plain processes: make run ARGS='--isolation none'"
fi

#!/bin/sh
# Format, clippy, and the shell scripts. Takes minutes the first time, seconds afterwards.
set -eu
. "$(dirname -- "$0")/lib.sh"

"$root/tools/check.sh"
cd "$root"
say "lint: rustfmt"
cargo fmt --all --check || fail "some files are not formatted" "make fmt"
say "lint: clippy"
# shellcheck disable=SC2086 # nothing, or one word
cargo clippy --quiet ${CI:+--locked} --workspace --all-targets -- --deny warnings

say "lint: shell scripts"
for script in .ci/run tools/*.sh examples/*/scripts/*; do
    case $(head -n 1 "$script") in
    *bash) bash -n "$script" ;;
    *) sh -n "$script" ;;
    esac
done
if has shellcheck; then
    shellcheck --external-sources --source-path=SCRIPTDIR .ci/run tools/*.sh examples/*/scripts/*
else
    say "lint: there is no shellcheck, so only their syntax was looked at"
fi

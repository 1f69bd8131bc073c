#!/bin/sh
# Builds all programs: millrace, and each service by itself. Takes minutes the first time, seconds afterwards.
set -eu
. "$(dirname -- "$0")/lib.sh"

"$root/tools/check.sh"
cd "$root"
say "build: minutes the first time, seconds afterwards"
# shellcheck disable=SC2086 # nothing, or one word
exec cargo build ${CI:+--locked} --workspace

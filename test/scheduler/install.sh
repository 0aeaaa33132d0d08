#!/bin/sh
# install.sh [-q] DIR puts into DIR, as a link, the program that runs Kueue's scheduler on the worlds
# of tests (oracle/, a Go module of its own). It is built from the Go module proxy, once for every
# state of oracle/, into the user's cache directory. oracle/go.mod has the versions of Kueue's
# modules: Kueue compiled most packages already, and half a minute of computing is left.
#
# install.sh -q builds nothing: it ends with 1 if that is still to be done.
set -eu

ask=no
[ "${1:-}" != -q ] || { ask=yes; shift; }
dir=${1:?usage: install.sh [-q] DIR}
here=$(cd "$(dirname "$0")" && pwd)
source=$here/oracle
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

. "$here/../clusters/build.sh"

cache=$(cache_of scheduler "$source" "$source"/*.go)
[ "$ask" = no ] || { [ -x "$cache/oracle" ] && exit 0 || exit 1; }
[ -x "$cache/oracle" ] || build "$cache" "$source" "Kueue's scheduler, which tests compare placements with" "" .
link "$cache/oracle" oracle

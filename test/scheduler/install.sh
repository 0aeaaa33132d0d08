#!/bin/sh
# install.sh [-q] DIR puts into DIR, as a link, the program that runs Kueue's scheduler on the worlds
# of tests (oracle/, a Go module of its own). It is built from the Go module proxy, once for every
# state of oracle/, into the user's cache directory. oracle/go.mod has the versions of Kueue's
# modules: Kueue compiled most packages already, and half a minute of computing is left.
#
# install.sh -q builds nothing: it ends with 1 if that is still to be done.
set -eu

usage="install.sh [-q] DIR"
. "$(dirname "$0")/../clusters/build.sh"

source=$here/oracle
cache=$(cache_of scheduler "$source" "$source"/*.go)
answer "$cache/oracle"
[ -x "$cache/oracle" ] || build "$cache" "$source" "Kueue's scheduler, which tests compare placements with" "" .
link "$cache/oracle" oracle

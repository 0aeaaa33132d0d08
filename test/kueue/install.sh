#!/bin/sh
# install.sh [-q] DIR VERSION... puts into DIR/VERSION, as a link, a directory with Kueue's own
# program of that version, and what its module has for clusters: crds and webhooks. DIR/current
# is a link to the first version. Kueue is built from the Go module proxy, once, into the user's
# cache directory (9 minutes of computing for v0.19).
#
# install.sh -q builds nothing: it ends with 1 if that is still to be done.
set -eu

usage="install.sh [-q] DIR VERSION..."
. "$(dirname "$0")/../clusters/build.sh"

shift
first=${1:?usage: $usage}

for version in "$@"; do
	cache=${XDG_CACHE_HOME:-${HOME:?HOME or XDG_CACHE_HOME has to be set}/.cache}/kubectl-jobmanagedby/kueue-$version-$(cksum <"$here/install.sh" | tr ' ' -)
	[ "$ask" = no ] || { [ -x "$cache/kueue" ] && continue || exit 1; }
	[ -x "$cache/kueue" ] || (
		module=$(cd / && go mod download -json "sigs.k8s.io/kueue@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
		mkdir -p "$cache/crds" "$cache/webhooks"
		cp -f "$module"/config/components/crd/bases/*.yaml "$cache/crds"
		cp -f "$module/config/components/webhook/manifests.yaml" "$cache/webhooks"
		rm -rf "$cache/source"
		cp -R "$module" "$cache/source"
		chmod -R u+w "$cache"
		# It wants certificates for its metrics in a directory that only root can make.
		sed 's#"/etc/kueue/metrics/certs"#"."#' "$module/cmd/kueue/main.go" >"$cache/source/cmd/kueue/main.go"
		build "$cache" "$cache/source" "Kueue $version, whose MultiKueue places Jobs on the clusters of tests and the demo" "" ./cmd/kueue
		rm -rf "$cache/source"
	)
	link "$cache" "$version"
done
[ "$ask" = yes ] || link "$first" current

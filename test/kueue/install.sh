#!/bin/sh
# install.sh DIR VERSION... puts into DIR/VERSION, as a link, a folder with Kueue's own program
# of that version, and what its module brings to be installed in clusters: crds and webhooks.
# It is built from the Go module proxy, once, into the user's cache folder (some 4 minutes of
# computing).
set -eu

dir=${1:?usage: install.sh DIR VERSION...}
shift
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

. "$here/../clusters/build.sh"

for version in "$@"; do (
	cache=${XDG_CACHE_HOME:-${HOME:?HOME or XDG_CACHE_HOME has to be set}/.cache}/kubectl-jobmanagedby/kueue-$version-$(cksum <"$here/install.sh" | tr ' ' -)
	if [ ! -x "$cache/kueue" ]; then
		module=$(cd / && go mod download -json "sigs.k8s.io/kueue@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
		mkdir -p "$cache/crds" "$cache/webhooks"
		cp -f "$module"/config/components/crd/bases/*.yaml "$cache/crds"
		cp -f "$module/config/components/webhook/manifests.yaml" "$cache/webhooks"
		rm -rf "$cache/source"
		cp -R "$module" "$cache/source"
		chmod -R u+w "$cache"
		# It wants certificates for its metrics in a folder that only root can make.
		sed 's#"/etc/kueue/metrics/certs"#"."#' "$module/cmd/kueue/main.go" >"$cache/source/cmd/kueue/main.go"
		build "$cache" "$cache/source" "Kueue $version" "" ./cmd/kueue
		rm -rf "$cache/source"
	fi
	link "$cache" "$version"
) done

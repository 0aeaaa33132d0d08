#!/bin/sh
# install.sh DIR puts into DIR, as links, the controllers of JobSet and Kubeflow Trainer
# (manager/, a Go module of its own), and a folder for each with what its module brings to
# be installed in clusters: crds and webhooks. They are built from the Go module proxy, once
# for every state of manager/, into the user's cache folder. manager/go.mod has the versions of
# Kueue's modules: after Kueue, 45 of 892 packages are compiled (half a minute of computing).
set -eu

dir=${1:?usage: install.sh DIR}
here=$(cd "$(dirname "$0")" && pwd)
source=$here/manager
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

. "$here/../clusters/build.sh"

# manifests PROJECT MODULE CRDS WEBHOOKS copies the definitions and the webhooks that a
# module has in these places.
manifests() {
	module=$(cd "$source" && go mod download "$2" && go list -m -f '{{.Dir}}' "$2")
	mkdir -p "$cache/$1/crds" "$cache/$1/webhooks"
	cp -f "$module/$3/"*_*.yaml "$cache/$1/crds"
	cp -f "$module/$4" "$cache/$1/webhooks"
	chmod -R u+w "$cache/$1"
}

cache=$(cache_of controllers "$source" "$source"/*.go "$here/install.sh")
if [ ! -x "$cache/manager" ]; then
	manifests jobset sigs.k8s.io/jobset config/components/crd/bases config/components/webhook/manifests.yaml
	manifests trainer github.com/kubeflow/trainer/v2 manifests/base/crds manifests/base/webhook/manifests.yaml
	build "$cache" "$source" "the controllers of JobSet and Kubeflow Trainer" "" .
fi
for name in manager jobset trainer; do
	link "$cache/$name" "$name"
done

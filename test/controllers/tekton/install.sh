#!/bin/sh
# install.sh DIR puts into DIR, as links, the program tekton, which runs the controllers and the
# webhooks of Tekton, and a directory tekton-pipelines with what Tekton's module brings to be
# installed in clusters: crds, webhooks and configs. It is built from the Go module proxy, once for
# every state of this directory, into the user's cache directory. Tekton needs older modules than
# all others here, so most of its 1569 packages are compiled (12 minutes of computing).
set -eu

usage="install.sh DIR"
. "$(dirname "$0")/../../clusters/build.sh"

cache=$(cache_of tekton "$here" "$here"/*.go "$here/install.sh")
if [ ! -x "$cache/tekton" ]; then
	config=$(cd "$here" && go mod download github.com/tektoncd/pipeline && go list -m -f '{{.Dir}}' github.com/tektoncd/pipeline)/config
	manifests=$cache/tekton-pipelines
	mkdir -p "$manifests/crds" "$manifests/webhooks" "$manifests/configs"
	cp -f "$config"/300-crds/*.yaml "$manifests/crds"
	cp -f "$config/500-webhooks.yaml" "$manifests/webhooks"
	cp -f "$config"/100-namespace/*.yaml "$config"/config-*.yaml "$manifests/configs"
	chmod -R u+w "$manifests"
	build "$cache" "$here" "Tekton's controllers and webhooks" "" .
fi
for name in tekton tekton-pipelines; do
	link "$cache/$name" "$name"
done

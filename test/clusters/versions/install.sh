#!/bin/sh
# install.sh DIR puts into DIR/VERSION, as links, the control planes of older versions of
# Kubernetes, each of which is a Go module in a folder beside this file. They are built from
# the Go module proxy, once for every state of their modules, into the user's cache folder
# (each some 7 minutes of computing).
set -eu

usage="install.sh DIR"
. "$(dirname "$0")/../build.sh"

all=$dir
for source in "$here"/v*; do (
	version=$(basename "$source")
	mkdir -p "$all/$version"
	dir=$(cd "$all/$version" && pwd)
	cache=$(cache_of "kubernetes-$version" "$source" "$source"/*.go)
	if [ ! -x "$cache/$version" ]; then
		minor=${version#v1.}
		info=k8s.io/component-base/version
		build "$cache" "$source" "Kubernetes $version" "-X $info.gitVersion=$version -X $info.gitMajor=1 -X $info.gitMinor=${minor%%.*}" .
	fi
	for program in kube-apiserver kube-controller-manager kube-scheduler; do
		link "$cache/$version" "$program"
	done
) done

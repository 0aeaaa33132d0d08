#!/bin/sh
# install.sh DIR puts etcd, the Kubernetes control plane, kubectl, kwok and
# kwokctl into DIR, as links. Programs that KUBEBUILDER_ASSETS or PATH already
# has are taken; the others are built from the Go module proxy, once for every
# state of controlplane/, into the user's cache folder (4 to 8 minutes on 2 cores
# the first time). It says what it builds, and how far it is.
#
# install.sh -q DIR builds nothing: it ends with 1 if that is still to be done.
set -eu

usage="install.sh [-q] DIR"
. "$(dirname "$0")/build.sh"

source=$here/controlplane
controlplane="etcd kube-apiserver kube-controller-manager kube-scheduler"
others="kubectl kwok kwokctl"

find_program() {
	old_ifs=$IFS
	IFS=:
	for folder in ${KUBEBUILDER_ASSETS:-} $PATH; do
		if [ -x "$folder/$1" ] && [ "$folder" != "$dir" ]; then
			IFS=$old_ifs
			echo "$folder/$1"
			return
		fi
	done
	IFS=$old_ifs
	return 1
}

# new_enough says whether an API server keeps managedBy for good: from 1.35 on.
new_enough() {
	minor=$("$1" --version 2>/dev/null | sed -n 's/^Kubernetes v1\.\([0-9]*\).*/\1/p')
	[ "${minor:-0}" -ge 35 ]
}

found_all=yes
for program in $controlplane $others; do
	path=$(find_program "$program") || { found_all=no; break; }
	[ "$program" != kube-apiserver ] || new_enough "$path" || { found_all=no; break; }
done
if [ "$found_all" = yes ]; then
	[ "$ask" = no ] || exit 0
	for program in $controlplane $others; do
		link "$(find_program "$program")" "$program"
	done
	exit 0
fi

cache=$(cache_of controlplane "$source" "$source"/*.go "$source"/kubectl/*.go)
answer "$cache/kwokctl"
if [ ! -x "$cache/kwokctl" ]; then
	version=$(sed -n 's/^.*k8s\.io\/kubernetes v/v/p' "$source/go.mod")
	minor=${version#v1.}
	minor=${minor%%.*}
	info=k8s.io/component-base/version
	build "$cache" "$source" "Kubernetes $version, etcd and kwok" \
		"-X $info.gitVersion=$version -X $info.gitMajor=1 -X $info.gitMinor=$minor" \
		. ./kubectl sigs.k8s.io/kwok/cmd/kwok sigs.k8s.io/kwok/cmd/kwokctl
fi
for program in $controlplane; do
	link "$cache/controlplane" "$program"
done
for program in $others; do
	link "$cache/$program" "$program"
done

#!/bin/sh
# install.sh DIR puts etcd, the Kubernetes control plane, kubectl, kwok and
# kwokctl into DIR, as links. Programs that KUBEBUILDER_ASSETS or PATH already
# has are taken; the others are built from the Go module proxy, once for every
# state of controlplane/, into the user's cache folder (about 4 minutes on 2
# cores the first time).
set -eu

dir=${1:?usage: install.sh DIR}
here=$(cd "$(dirname "$0")" && pwd)
source=$here/controlplane
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

controlplane="etcd kube-apiserver kube-controller-manager kube-scheduler kubectl"

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

link() { ln -sfn "$1" "$dir/$2"; }

found_all=yes
for program in $controlplane kwok kwokctl; do
	path=$(find_program "$program") || { found_all=no; break; }
	[ "$program" != kube-apiserver ] || new_enough "$path" || { found_all=no; break; }
done
if [ "$found_all" = yes ]; then
	for program in $controlplane kwok kwokctl; do
		link "$(find_program "$program")" "$program"
	done
	exit 0
fi

key=$(cat "$source/go.mod" "$source/go.sum" "$source/main.go" | cksum | tr ' ' -)
cache=${XDG_CACHE_HOME:-${HOME:?HOME or XDG_CACHE_HOME has to be set}/.cache}/kubectl-jobmanagedby/controlplane-$key
if [ ! -x "$cache/kwokctl" ]; then
	version=$(sed -n 's/^.*k8s\.io\/kubernetes v/v/p' "$source/go.mod")
	minor=${version#v1.}
	minor=${minor%%.*}
	echo "building the control plane of Kubernetes $version (once; takes some minutes)" >&2
	mkdir -p "$cache"
	info=k8s.io/component-base/version
	(
		cd "$source"
		export CGO_ENABLED=0
		go build -trimpath -o "$cache/controlplane" \
			-ldflags "-s -w -X $info.gitVersion=$version -X $info.gitMajor=1 -X $info.gitMinor=$minor" .
		go build -trimpath -ldflags "-s -w" -o "$cache/kwok" sigs.k8s.io/kwok/cmd/kwok
		# The last one, because its presence says that the folder is whole.
		go build -trimpath -ldflags "-s -w" -o "$cache/kwokctl" sigs.k8s.io/kwok/cmd/kwokctl
	)
fi
for program in $controlplane; do
	link "$cache/controlplane" "$program"
done
link "$cache/kwok" kwok
link "$cache/kwokctl" kwokctl

#!/bin/sh
# install.sh DIR [ecosystem] puts into DIR, as links, the controllers of JobSet and Kubeflow Trainer
# (manager/, a Go module of its own), and a directory for each project with what its module brings
# to be installed in clusters: crds and webhooks. With "ecosystem" it does the same for all further
# projects (manager/ecosystem). They are built from the Go module proxy, once for every state of
# manager/, into the user's cache directory. manager/go.mod has the versions of Kueue's modules:
# after Kueue, 45 of 892 packages are compiled (half a minute of computing; two for the ecosystem).
set -eu

usage="install.sh DIR [ecosystem]"
. "$(dirname "$0")/../clusters/build.sh"

source=$here/manager
# manifests PROJECT MODULE WEBHOOKS CRDS... copies the definitions and the webhooks that a module has
# in these places; WEBHOOKS is - for none.
manifests() {
	project=$cache/$1
	module=$(cd "$source" && go mod download "$2" && go list -m -f '{{.Dir}}' "$2")
	mkdir -p "$project/crds" "$project/webhooks"
	[ "$3" = - ] || cp -f "$module/$3" "$project/webhooks"
	shift 3
	for crds in "$@"; do cp -f "$module"/$crds "$project/crds"; done
	chmod -R u+w "$project"
}

case ${2:-} in
'')
	program=manager
	projects="jobset trainer"
	cache=$(cache_of controllers "$source" "$source"/*.go "$source"/run/*.go "$here/install.sh")
	if [ ! -x "$cache/$program" ]; then
		manifests jobset sigs.k8s.io/jobset config/components/webhook/manifests.yaml 'config/components/crd/bases/*_*.yaml'
		manifests trainer github.com/kubeflow/trainer/v2 manifests/base/webhook/manifests.yaml 'manifests/base/crds/*_*.yaml'
		build "$cache" "$source" "the controllers of JobSet and Kubeflow Trainer" "" .
	fi
	;;
ecosystem)
	program=ecosystem
	projects="appwrapper kuberay lws mpi-operator training-operator"
	cache=$(cache_of ecosystem "$source" "$source"/ecosystem/*.go "$source"/run/*.go "$here/install.sh")
	if [ ! -x "$cache/$program" ]; then
		manifests appwrapper github.com/project-codeflare/appwrapper config/webhook/manifests.yaml 'config/crd/bases/*.yaml'
		manifests kuberay github.com/ray-project/kuberay/ray-operator - 'config/crd/bases/*.yaml'
		manifests lws sigs.k8s.io/lws config/webhook/manifests.yaml 'config/crd/bases/*_leaderworkersets.yaml'
		manifests mpi-operator github.com/kubeflow/mpi-operator - 'manifests/base/*_mpijobs.yaml'
		# Its version of MPIJob is not served beside that of the MPI operator.
		manifests training-operator github.com/kubeflow/training-operator - 'manifests/base/crds/*_[jptx]*jobs.yaml'
		build "$cache" "$source" "the controllers of AppWrapper, KubeRay, LeaderWorkerSet, MPI operator and training-operator" "" ./ecosystem
	fi
	;;
*)
	echo "usage: $usage" >&2
	exit 2
	;;
esac
for name in $program $projects; do
	link "$cache/$name" "$name"
done

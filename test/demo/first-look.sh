#!/bin/sh
# first-look.sh PLUGIN shows the plugin on a recorded fleet, the demo's own, for
# those who wait for the clusters of their own to be built.
set -eu

plugin=${1:?usage: first-look.sh PLUGIN}

show() {
	printf '\n$ kubectl jobs-managedby %s\n' "$*"
	"$plugin" "$@"
}

echo "The plugin is built. What it says of a recorded fleet, examples/fleet:"
show ls -A --from examples/fleet
show trace finetune -n vision --from examples/fleet
show check -A --from examples/fleet --grace 0s --fail-on none
echo
echo "Next, the same on three clusters of your own, with real controllers. Two things are built for"
echo "them, once: Kubernetes (about 6 minutes on two cores) and Kueue, whose MultiKueue places the"
echo "demo's Jobs (about 5 minutes)."

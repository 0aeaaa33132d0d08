// Command kubectl is kubectl, by itself: tests call it thousands of times, and in one binary
// with the control plane it takes twice as long to begin.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
)

func main() {
	os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand()))
}

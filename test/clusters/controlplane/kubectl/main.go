// Command kubectl is kubectl in its own binary: tests call it thousands of times, and in one binary
// with the control plane it takes twice as long to start.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
)

func main() {
	os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand()))
}

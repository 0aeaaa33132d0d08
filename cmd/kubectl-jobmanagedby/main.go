// Command kubectl-jobmanagedby is the kubectl plugin "kubectl jobs-managedby".
package main

import (
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
)

func main() {
	os.Exit(cmd.Run(cmd.Environment{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		Program:   os.Args[0],
		Args:      os.Args[1:],
		LookupEnv: os.LookupEnv,
		Clock:     clock.RealClock{},
	}))
}

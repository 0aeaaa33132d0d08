// Command kubectl-jobmanagedby is the kubectl plugin "kubectl jobs-managedby".
package main

import (
	"os"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
)

func main() { os.Exit(cmd.Run(cmd.ThisProcess())) }

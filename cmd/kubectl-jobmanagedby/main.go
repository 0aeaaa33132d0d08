// Command kubectl-jobmanagedby is the kubectl plugin "kubectl jobs-managedby".
package main

import (
	"os"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

func main() { os.Exit(cmd.Run(util.ThisProcess())) }

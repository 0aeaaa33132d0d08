// Command kubectl-jobmanagedby is the kubectl plugin "kubectl jobs-managedby".
package main

import (
	"os"
	"runtime/debug"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// gcPercent is the garbage that may accumulate, in percent of the memory in use. With 50 instead
// of Go's 100, check of 10,000 Jobs takes a sixth less memory, and hardly longer.
const gcPercent = 50

func main() {
	if _, isSet := os.LookupEnv("GOGC"); !isSet {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(cmd.Run(util.ThisProcess()))
}

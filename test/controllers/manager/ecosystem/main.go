// Command ecosystem runs the controllers of a project whose kinds Kueue integrates, or which
// follows managedBy by itself.
package main

import "github.com/jobmanagedby/kubectl-jobmanagedby/test/controllers/manager/run"

func main() {
	run.Main(map[string]run.Controllers{
		"appwrapper": appWrapper(), "kuberay": kubeRay(), "lws": leaderWorkerSet(),
		"mpi-operator": mpiOperator(), "training-operator": trainingOperator(),
	})
}

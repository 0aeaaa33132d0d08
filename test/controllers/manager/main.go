// Command manager runs the controllers of JobSet or Kubeflow Trainer.
package main

import "github.com/jobmanagedby/kubectl-jobmanagedby/test/controllers/manager/run"

func main() {
	run.Main(map[string]run.Controllers{"jobset": jobSet(), "trainer": trainer()})
}

package delegation

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	trainingOperator = "kubeflow.org/training-operator"
	trainingSince    = "Training Operator v1.9.0"
)

func kubeflowKinds() []Kind {
	rows := trainJobKinds()
	for _, k := range []struct {
		name, kind string
		// change is how the kind's webhook validates the field. anyOwner is whether it accepts
		// any value.
		change   Change
		anyOwner bool
	}{
		// The webhook compares the new object with itself (pytorchjob_webhook.go:64).
		{"pytorchjob", "PyTorchJob", Always, false},
		{"tfjob", "TFJob", ByWebhook, false},
		{"xgboostjob", "XGBoostJob", ByWebhook, false},
		{"paddlejob", "PaddleJob", ByWebhook, false},
		{"jaxjob", "JAXJob", Always, true},
	} {
		kind := trainingKind(k.name, k.kind, "v1", trainingOperator, trainingSince)
		kind.Change = k.change
		if !k.anyOwner {
			kind.Allowed = []Owner{trainingOperator, MultiKueue}
		}
		rows = append(rows, kind)
	}
	// Both versions have the name mpijobs.kubeflow.org, so a cluster can have only one of them.
	// Neither controller has a webhook that validates the field.
	v2 := trainingKind("mpijob", "MPIJob", "v2beta1", "kubeflow.org/mpi-operator", "MPI Operator v0.6.0")
	v1 := trainingKind("mpijob", "MPIJob", "v1", trainingOperator, trainingSince)
	v2.Change, v1.Change = Always, Always
	// The launcher is a Job (mpi-operator: pkg/controller/mpi_job_controller.go).
	v2.CreatesJobs = true
	return append(rows, v2, v1)
}

// replicaSpecs returns the field with the replicas of a kind by their types (training-operator:
// pkg/apis/kubeflow.org/v1).
func replicaSpecs(name string) string {
	short := strings.TrimSuffix(name, "job")
	if short == "xgboost" {
		short = "xgb"
	}
	return short + "ReplicaSpecs"
}

// trainingKind returns a kind with the status that the kinds of training-operator share
// (training-operator: pkg/apis/kubeflow.org/v1/common_types.go).
func trainingKind(name, kind, version, reserved, since string) Kind {
	return Kind{
		Name:      name,
		Kind:      kind,
		Resource:  schema.GroupVersionResource{Group: "kubeflow.org", Version: version, Resource: name + "s"},
		ManagedBy: []string{"spec", "runPolicy", "managedBy"},
		Reserved:  reserved,
		Since:     since,
		// These are spec.pytorchReplicaSpecs and the like. Each kind has only one such map.
		PodCounts: [][]string{{"spec", replicaSpecs(name), "*", "replicas"}},
		Indicators: Indicators{
			Suspend:   []Indicator{field("spec.runPolicy.suspend", "true")},
			Complete:  []Indicator{condition("Succeeded")},
			Failed:    []Indicator{condition("Failed")},
			Suspended: []Indicator{condition("Suspended")},
			Running:   []Indicator{condition("Running"), condition("Restarting")},
			Restarts:  RestartFields{Now: []Indicator{condition("Restarting")}},
			Start:     []string{"status", "startTime"},
			End:       []string{"status", "completionTime"},
		},
		PodLabel:          "training.kubeflow.org/job-name",
		CanStartSuspended: true,
	}
}

func trainJobKinds() []Kind {
	trainJob := func(group, version, reserved string) Kind {
		return Kind{
			Name:      "trainjob",
			Kind:      "TrainJob",
			Resource:  schema.GroupVersionResource{Group: group, Version: version, Resource: "trainjobs"},
			ManagedBy: []string{"spec", "managedBy"},
			Reserved:  reserved,
			Defaulted: true,
			Allowed:   []Owner{Owner(reserved), MultiKueue},
			Change:    Never,
			Since:     "Kubeflow Trainer v2.3.0",
			// kubeflow/trainer#3632, fixed by #3681.
			Ignored: "Kubeflow Trainer before v2.3.0",
			Indicators: Indicators{
				Suspend:   []Indicator{field("spec.suspend", "true")},
				Complete:  []Indicator{condition("Complete")},
				Failed:    []Indicator{condition("Failed")},
				Suspended: []Indicator{condition("Suspended")},
				Running:   countsOfJobs("status.jobsStatus"),
				// v2.0.0 writes it only when the TrainJob ends or is suspended
				// (kubeflow/trainer#2713).
				ChildKind: "jobset",
			},
			PodCounts: [][]string{{"spec", "trainer", "numNodes"}},
			// A TrainJob runs as a JobSet with its name.
			CreatesJobs:       true,
			PodLabel:          "jobset.sigs.k8s.io/jobset-name",
			CanStartSuspended: true,
		}
	}
	return []Kind{
		trainJob("trainer.kubeflow.org", "v1alpha1", "trainer.kubeflow.org/trainjob-controller"),
		trainJob("kubeflow.org", "v2alpha1", "kubeflow.org/trainjob-controller"),
	}
}

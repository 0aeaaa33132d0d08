package controllers

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

var (
	appWrappers      = schema.GroupVersionResource{Group: "workload.codeflare.dev", Version: "v1beta2", Resource: "appwrappers"}
	mpiJobs          = schema.GroupVersionResource{Group: "kubeflow.org", Version: "v2beta1", Resource: "mpijobs"}
	pyTorchJobs      = schema.GroupVersionResource{Group: "kubeflow.org", Version: "v1", Resource: "pytorchjobs"}
	rayJobs          = schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayjobs"}
	rayClusters      = schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}
	leaderWorkerSets = schema.GroupVersionResource{Group: "leaderworkerset.x-k8s.io", Version: "v1", Resource: "leaderworkersets"}
)

// ecosystem returns the projects of make test-ecosystem.
func ecosystem() installation {
	return installation{
		program:  "ecosystem",
		projects: []project{"appwrapper", "kuberay", "lws", "mpi-operator", "training-operator"},
		frameworks: []string{
			"workload.codeflare.dev/appwrapper", "ray.io/rayjob", "ray.io/raycluster", "kubeflow.org/mpijob",
			"kubeflow.org/pytorchjob", "pod", "leaderworkerset.x-k8s.io/leaderworkerset",
		},
		queued: ecosystemKinds(),
	}
}

// ecosystemKinds returns the kinds of these projects.
func ecosystemKinds() []queued {
	const submitter = "batch.kubernetes.io/job-name"
	all := []queued{
		manifest{appWrappers, appWrapperText, "node"}.queued("AppWrapper", 2),
		manifest{mpiJobs, mpiJobText, "node"}.queued("MPIJob", 3),
		// The operator requires the name of the container.
		manifest{pyTorchJobs, pyTorchJobText, "pytorch"}.queued("PyTorchJob", 2),
		manifest{rayJobs, rayJobText, "node"}.queued("RayJob", 3),
		manifest{rayClusters, rayClusterText, "node"}.queued("RayCluster", 2),
	}
	all[0].parts = map[string]string{"job/work": "AppWrapper"}
	all[1].parts, all[1].ending = map[string]string{"job/train-launcher": "MPIJob"}, submitter
	all[3].parts, all[3].ending = map[string]string{"job/train": "RayJob"}, submitter
	all[4].endless = true
	return all
}

// manifest creates objects named train of one kind.
type manifest struct {
	resource schema.GroupVersionResource
	// text is a format with the template of the Pods that end the object, and that of the others.
	text string
	// container is the name of the container.
	container string
}

func (m manifest) queued(kind string, pods int) queued {
	return queued{resource: m.resource, kind: kind, pods: pods, submit: m.submit, manifest: m}
}

// submit creates an object on the manager, with the queue label and without managedBy.
func (m manifest) submit(t *testing.T, ns, annotations string) {
	t.Helper()
	m.create(t, manager, ns, annotations, func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{delegation.QueueNameLabel: "batch"})
	})
}

// create creates an object on a cluster after a change.
func (m manifest) create(t *testing.T, cluster, ns, annotations string, change func(*unstructured.Unstructured)) {
	t.Helper()
	adapt := strings.NewReplacer("name: node", "name: "+m.container)
	if m.resource == leaderWorkerSets {
		// StatefulSets restart their Pods.
		adapt = strings.NewReplacer("restartPolicy: Never", "restartPolicy: Always")
	}
	o := parse(t, adapt.Replace(fmt.Sprintf(m.text, template(annotations), template(forHours))))
	change(o)
	createObject(t, cluster, m.resource, ns, o)
}

const (
	appWrapperText = `
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: train}
spec:
  components:
  - template:
      apiVersion: batch/v1
      kind: Job
      metadata: {name: work}
      spec: {parallelism: 2, completions: 2, backoffLimit: 0, template: %[1]s}
`
	mpiJobText = `
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: train}
spec:
  runPolicy: {backoffLimit: 0, cleanPodPolicy: All}
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: %[1]s}
    Worker: {replicas: 2, template: %[2]s}
`
	pyTorchJobText = `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  runPolicy: {backoffLimit: 0}
  pytorchReplicaSpecs:
    Master: {replicas: 1, restartPolicy: Never, template: %[1]s}
    Worker: {replicas: 1, restartPolicy: Never, template: %[2]s}
`
	rayJobText = `
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: train}
spec:
  entrypoint: python train.py
  shutdownAfterJobFinishes: true
  submitterConfig: {backoffLimit: 0}
  submitterPodTemplate: %[1]s
  rayClusterSpec:
    rayVersion: 2.46.0
    headGroupSpec: {rayStartParams: {}, template: %[2]s}
    workerGroupSpecs:
    - {groupName: workers, replicas: 1, minReplicas: 1, maxReplicas: 1, rayStartParams: {}, template: %[2]s}
`
	rayClusterText = `
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: train}
spec:
  rayVersion: 2.46.0
  headGroupSpec: {rayStartParams: {}, template: %[1]s}
  workerGroupSpecs:
  - {groupName: workers, replicas: 1, minReplicas: 1, maxReplicas: 1, rayStartParams: {}, template: %[1]s}
`
	leaderWorkerSetText = `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: train}
spec:
  replicas: 1
  leaderWorkerTemplate: {size: 2, workerTemplate: %[1]s}
`
)

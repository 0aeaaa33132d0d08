package delegation

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// AdmissionGate is the scheduling gate with which Kueue holds a Pod back until it is admitted.
const AdmissionGate = "kueue.x-k8s.io/admission"

// ElasticGate is the scheduling gate with which Kueue holds back the new Pods of an elastic object until its new size is
// admitted (kueue: apis/kueue/v1beta2/constants.go).
const ElasticGate = "kueue.x-k8s.io/elastic-job"

// unmanagedKinds returns kinds without a field that names an owner. MultiKueue moves them anyway,
// which only its labels show (docs/reference/multikueue.md#adapters). Only objects in a queue are
// read.
func unmanagedKinds() []Kind {
	return []Kind{
		{
			Name:       "pod",
			ShortNames: []string{"po"},
			Kind:       "Pod",
			Resource:   corev1.SchemeGroupVersion.WithResource("pods"),
			Selector:   QueueNameLabel,
			Indicators: Indicators{
				Suspend:     []Indicator{field("spec.schedulingGates.name", AdmissionGate)},
				Complete:    []Indicator{field("status.phase", string(corev1.PodSucceeded))},
				Failed:      []Indicator{field("status.phase", string(corev1.PodFailed))},
				Running:     []Indicator{field("status.phase", string(corev1.PodRunning))},
				Start:       []string{"status", "startTime"},
				Explanation: Explanation{Reason: []string{"status", "reason"}, Message: []string{"status", "message"}},
			},
		},
		{
			Name:         "statefulset",
			ShortNames:   []string{"sts"},
			Kind:         "StatefulSet",
			Resource:     appsv1.SchemeGroupVersion.WithResource("statefulsets"),
			Selector:     QueueNameLabel,
			Indicators:   Indicators{Running: []Indicator{field("status.readyReplicas")}},
			NoStatusSync: true,
		},
		{
			Name:         "leaderworkerset",
			ShortNames:   []string{"lws"},
			Kind:         "LeaderWorkerSet",
			Resource:     schema.GroupVersionResource{Group: "leaderworkerset.x-k8s.io", Version: "v1", Resource: "leaderworkersets"},
			Selector:     QueueNameLabel,
			Indicators:   Indicators{Running: []Indicator{condition("Available")}},
			PodLabel:     "leaderworkerset.sigs.k8s.io/name",
			NoStatusSync: true,
		},
	}
}

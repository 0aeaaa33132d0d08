package inspect

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Hop is one object on the chain from an origin to its Pods.
type Hop struct {
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Namespace is the namespace of the object; empty if it is cluster-scoped.
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the object.
	Name string `json:"name"`
	// Context is the context of the object; empty if no context reaches it.
	Context string `json:"context"`
	// State is a state in the object's own words, or NotFound, Forbidden, Unreachable or Unknown.
	State string `json:"state"`
	// Message says more, in the words of the object's controller.
	Message string `json:"message"`
	// Health is what State means for the chain.
	Health Health `json:"health"`
	// Since is when State began; null if unknown.
	Since *metav1.Time `json:"since"`
	// Depth is how many hops precede this one in the chain. Its parent is the last hop before it
	// with a smaller depth.
	Depth int `json:"depth"`
}

// Health says whether the chain continues at a hop.
type Health string

// The values of Health.
const (
	// HealthOK means that the object is as it should be.
	HealthOK Health = "ok"
	// HealthWaiting means that the object is not ready yet.
	HealthWaiting Health = "waiting"
	// HealthBad means that the chain cannot continue without help.
	HealthBad Health = "bad"
	// HealthUnknown means that the object could not be checked.
	HealthUnknown Health = "unknown"
)

// Healths returns all values of Health.
func Healths() []Health { return []Health{HealthOK, HealthWaiting, HealthBad, HealthUnknown} }

// TimelineEntry is one event of an object on the chain.
type TimelineEntry struct {
	// Time is when it happened, by the clock of the cluster.
	Time metav1.Time `json:"time"`
	// Context is the context where it happened.
	Context string `json:"context"`
	// Object is the object, such as "Workload/job-train-1c348".
	Object string `json:"object"`
	// Event says what happened.
	Event string `json:"event"`
}

// LifeState is a state of a Job on a cluster.
type LifeState string

// The states of a Job's life.
const (
	// LifeEarlier is the time before the last eviction. Only a few events of it are kept, because
	// Kueue dates only the last admission.
	LifeEarlier LifeState = "earlier"
	// LifeWaiting is the time without quota, or before the start if there is no Workload.
	LifeWaiting LifeState = "waiting"
	// LifeEvicted is the time without quota after an eviction.
	LifeEvicted LifeState = "evicted"
	// LifeOffered is the time with quota, before the admission checks are done. On a management
	// cluster of MultiKueue, the Workload is then offered to the workers.
	LifeOffered LifeState = "offered"
	// LifeAdmitted is the time of admission without Pods on this cluster.
	LifeAdmitted LifeState = "admitted"
	// LifeRunning is the time from the first Pod on.
	LifeRunning LifeState = "running"
	// LifeLost is a time in which the management cluster has no connection to this cluster.
	LifeLost LifeState = "lost"
)

// LifeStates returns all states, in the order in which a Job goes through them.
func LifeStates() []LifeState {
	return []LifeState{LifeEarlier, LifeWaiting, LifeEvicted, LifeOffered, LifeAdmitted, LifeRunning, LifeLost}
}

// Interval is a time in which a Job was in one state on one cluster. Times are by the cluster's own
// clock.
type Interval struct {
	// Cluster is a context, or the name of a MultiKueueCluster that no context reaches.
	Cluster string
	State   LifeState
	From    time.Time
	// To is when the state ended, or when the cluster was read if it continues.
	To time.Time
	// IsOpen is whether the state continues.
	IsOpen bool
}

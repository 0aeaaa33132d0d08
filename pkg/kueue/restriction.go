package kueue

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// ClusterNames is the annotation by which a user restricts the MultiKueueClusters of a Workload, as names with commas
// between them. Kueue follows it behind its gate MultiKueueClusterNames (kueue: issue 14540, pull request 14539).
const ClusterNames = Group + "/multikueue-cluster-names"

// allowedClusters returns the MultiKueueClusters that the annotation ClusterNames allows, nil if Kueue may nominate all.
// The annotation counts only if all nominated clusters are among them: otherwise the gate is off.
func (w *Workload) allowedClusters() []string {
	var names []string
	for name := range strings.SplitSeq(w.Annotations[ClusterNames], ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	isOther := func(name string) bool { return !slices.Contains(names, name) }
	if len(w.Status.Nominated) == 0 || slices.ContainsFunc(w.Status.Nominated, isOther) {
		return nil
	}
	return names
}

// Excludes reports whether the annotation ClusterNames keeps a Workload from a MultiKueueCluster.
func (w *Workload) Excludes(cluster string) bool {
	names := w.allowedClusters()
	return len(names) > 0 && !slices.Contains(names, cluster)
}

// Allow returns the command that lets a Workload also run on a MultiKueueCluster that the annotation ClusterNames excludes.
func Allow(context string, w *Workload, cluster string) command.Command {
	names := strings.Join(append(w.allowedClusters(), cluster), ",")
	return Kubectl(context, "annotate", "Workload", w.Namespace, w.Name).With(ClusterNames+"="+names, "--overwrite")
}

// WhyNoWorker returns what MultiKueue says about the workers of a Workload that none has admitted: the condition
// MultiKueueWorkload (kueue: KEP-10189). It is "" if it says nothing, as up to Kueue 0.20.
func (w *Workload) WhyNoWorker() string {
	c := w.Condition("MultiKueueWorkload")
	if c == nil || c.Status != metav1.ConditionFalse {
		return ""
	}
	return cmp.Or(c.Message, c.Reason)
}

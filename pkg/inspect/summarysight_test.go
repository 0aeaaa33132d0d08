package inspect

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestSummaryOfWhatIsOutOfSight: the first line of a trace claims no more than was seen.
func TestSummaryOfWhatIsOutOfSight(t *testing.T) {
	origin := func(mark string) *Job {
		j := object("", "ml", "train", uid("origin"), managedBy(delegation.Dispatch))
		j.Marks = delegation.MarksOf(nil, map[string]string{delegation.MirrorAnnotation: mark})
		return j
	}
	mirror := object("", "ml", "train", uid("mirror"), mirrorOfDispatch("origin"))
	dead := func(context string) *Facts { return &Facts{Context: context, Err: errors.New("dead")} }
	late := through("w", "w", mirror)
	late.Err = errors.New("the connection broke")
	for name, tt := range map[string]struct {
		clusters []*Facts
		others   []string
		want     string
	}{
		"everything was looked at": {[]*Facts{through("m", "m", origin("")), through("w", "w")}, nil, "no mirror was found"},
		"one alone was asked":      {[]*Facts{through("m", "m", origin(""))}, []string{"w"}, "no mirror was found on m; not looked at: w"},
		"one does not answer":      {[]*Facts{through("m", "m", origin("")), dead("w")}, nil, "no mirror was found on m; not looked at: w"},
		"it says where":            {[]*Facts{through("m", "m", origin("w/ml/train/u")), dead("w")}, nil, "dispatched to ml/train on cluster w, which was not checked; it may be what w would lead to"},
		"it says where, unknown": {
			[]*Facts{through("m", "m", origin("unknown/ml/train/u")), through("v", "v"), dead("w")},
			nil,
			"dispatched to ml/train on an unidentified cluster, which was not checked; it may be what w would lead to",
		},
		"it says where, and that was looked at": {[]*Facts{through("m", "m", origin("w/ml/train/u")), through("w", "w")}, nil, "no mirror was found"},
		"its cluster answered once":             {[]*Facts{through("m", "m", origin("")), late}, nil, "Running on w when it was last seen; w does not answer since"},
	} {
		t.Run(name, func(t *testing.T) {
			v := inventoryOf(tt.clusters...)
			for _, other := range tt.others {
				v.Addresses = append(v.Addresses, kubecontext.Address{Context: other})
			}
			assert.Equal(t, v.Trace(v.Pairs.Pairs[0]).Summary, tt.want)
		})
	}
}

// TestSummaryOfALostConnection: what runs on a cluster that its manager does not reach
// any more is not just running; and one refusal is told once.
func TestSummaryOfALostConnection(t *testing.T) {
	j := object("", "ml", "train", uid("origin"), managedBy(delegation.MultiKueue))
	j.Marks = &delegation.Marks{Queue: "q"}
	m := through("m", "m", j)
	clusters := []*kueue.MultiKueueCluster{{}, {}}
	for i, name := range []string{"near", "far"} {
		clusters[i].Name = name
		clusters[i].Status.Conditions = []metav1.Condition{{Type: kueue.Active, Status: metav1.ConditionTrue}}
	}
	clusters[1].Status.Conditions[0] = metav1.Condition{Type: kueue.Active, Status: metav1.ConditionFalse, Reason: "ClientConnectionFailed"}
	check, config := &kueue.AdmissionCheck{}, &kueue.MultiKueueConfig{}
	check.Name, config.Name = "mk", "config"
	check.Spec.ControllerName = kueue.ControllerName
	assert.NilError(t, json.Unmarshal([]byte(`{"name":"config"}`), &check.Spec.Parameters))
	config.Spec.Clusters = []string{"near", "far"}
	workload := &kueue.Workload{}
	workload.Namespace, workload.Name = "ml", prebuilt("train", "origin")
	workload.Labels = map[string]string{delegation.JobUIDLabel: "origin"}
	workload.Status.AdmissionChecks = []kueue.CheckState{{Name: "mk", State: kueue.CheckReady}}
	far := "far"
	workload.Status.ClusterName = &far
	m.Kueue = &KueueFacts{
		Workloads: []*kueue.Workload{workload}, Checks: []*kueue.AdmissionCheck{check}, Configs: []*kueue.MultiKueueConfig{config},
		Clusters: clusters, Addresses: map[string]kubecontext.Address{"far": {Server: "https://w"}, "near": {Server: "https://v"}},
	}
	w := through("w", "w", object("", "ml", "train", uid("mirror"), mirrorOf("train", "origin")))
	copied := *workload
	copied.Status = kueue.WorkloadStatus{Conditions: []metav1.Condition{{Type: kueue.Admitted, Status: metav1.ConditionTrue}}}
	w.Kueue = &KueueFacts{Workloads: []*kueue.Workload{&copied}}
	v := inventoryOf(m, w)
	assert.Equal(t, v.Trace(v.Pairs.Pairs[0]).Summary,
		"Running on w; MultiKueue has lost the connection to it (MultiKueueCluster far: ClientConnectionFailed), and hears nothing of it")

	m.Kueue.Addresses = nil
	m.Gaps[PartSecrets] = errors.New("secrets is forbidden")
	var messages []string
	for _, h := range inventoryOf(m).Trace(Pair{Origin: j}).Hops {
		if h.Kind == "MultiKueueCluster" {
			messages = append(messages, h.Message)
		}
	}
	assert.DeepEqual(t, messages, []string{
		"which context reaches it is not known: secrets is forbidden", "which context reaches it is not known, for the same reason",
	})
}

// TestWithinSecondsOfAnEnd: until an end has come to the origin, headline and way say so
// alike.
func TestWithinSecondsOfAnEnd(t *testing.T) {
	ended := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	origin := object("", "ml", "train", uid("origin"), managedBy(delegation.Dispatch))
	origin.Status = delegation.Running
	mirror := object("", "ml", "train", uid("mirror"), mirrorOfDispatch("origin"))
	mirror.Status, mirror.Succeeded, mirror.FinishedTime, mirror.StatusWrittenAt = delegation.Complete, 1, &ended, &ended
	v := NewInventory(ended.Add(2*time.Second), []*Facts{through("m", "m", origin), through("w", "w", mirror)}, nil)
	trace := v.Trace(v.Pairs.Pairs[0])
	assert.Equal(t, trace.Summary, "Complete on w, which the origin does not tell yet")
	assert.Assert(t, trace.Mirrors[0].InStep)
	i := slices.IndexFunc(trace.Hops, func(h Hop) bool { return h.Context == "w" && h.Kind == "Job" })
	assert.Assert(t, i >= 0 && strings.HasSuffix(trace.Hops[i].Message, "its mirror, whose state the origin does not tell yet"), "%v", trace.Hops)
}

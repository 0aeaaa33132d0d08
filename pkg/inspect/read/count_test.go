package read_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// TestRequestsWithLimitRanges checks that the LimitRanges of a namespace count for the Workloads of which Kueue
// has not reported the requests, and that these are unknown without the LimitRanges.
func TestRequestsWithLimitRanges(t *testing.T) {
	const limits = `{"apiVersion":"v1","kind":"LimitRangeList","metadata":{},"items":[
{"metadata":{"namespace":"a","name":"l"},"spec":{"limits":[{"type":"Container","defaultRequest":{"cpu":"3"}}]}}]}`
	workload := func(namespace, name, more string) string {
		return fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"uid":"%[1]s/%[2]s"},"spec":{"queueName":"q","podSets":[
{"name":"main","count":2,"template":{"spec":{"containers":[{"name":"c","resources":{"requests":{"memory":"1"}}},{"name":"d"}]}}}]},"status":{%s}}`, namespace, name, more)
	}
	const explicit = `{"metadata":{"namespace":"c","name":"explicit","uid":"e"},"spec":{"queueName":"q","podSets":[
{"name":"main","count":2,"template":{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}}]},"status":{}}`
	const reported = `"resourceRequests":[{"name":"main","resources":{"cpu":"5"}}]`
	for name, tt := range map[string]struct {
		namespaces, refused []string
		answers             map[string]string
		want                map[string]string
	}{
		"one namespace": {
			namespaces: []string{"a"}, answers: map[string]string{"/api/v1/namespaces/a/limitranges": limits},
			want: map[string]string{"a/new": "12", "a/old": "5"},
		},
		"many namespaces": {
			namespaces: []string{"a", "b", "c", "d"}, answers: map[string]string{"/api/v1/limitranges": limits},
			want: map[string]string{"a/new": "12", "a/old": "5", "b/new": "0", "b/old": "5", "c/new": "0", "c/old": "5", "d/new": "0", "d/old": "5"},
		},
		"some of many namespaces": {
			namespaces: []string{"a", "b", "c", "d"}, refused: []string{"/api/v1/"},
			answers: map[string]string{"/api/v1/namespaces/a/limitranges": limits, "/api/v1/namespaces/b/limitranges": none},
			want:    map[string]string{"a/new": "12", "a/old": "5", "b/new": "0", "b/old": "5", "c/new": "?", "c/old": "5", "c/explicit": "2", "d/new": "?", "d/old": "5"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var workloads []string
			for _, namespace := range tt.namespaces {
				workloads = append(workloads, workload(namespace, "new", ""), workload(namespace, "old", reported))
			}
			if len(tt.refused) > 0 {
				workloads = append(workloads, explicit)
			}
			answers := map[string]string{
				whichCluster: identity("w"), "/apis/kueue.x-k8s.io": kueueServed,
				kueueAPI + "workloads": `{"apiVersion":"v1","kind":"List","metadata":{},"items":[` + strings.Join(workloads, ",") + "]}",
			}
			for _, resource := range []string{"admissionchecks", "multikueueconfigs", "multikueueclusters", "clusterqueues", "cohorts", "localqueues"} {
				answers[kueueAPI+resource] = none
			}
			for path, answer := range tt.answers {
				answers[path] = answer
			}
			server := serves{answers: answers, refused: tt.refused}
			f := fleet.Open(t.Context(), []fleet.Context{{Name: "w", Namespace: "ml", Config: &rest.Config{Host: "https://w", Transport: server, QPS: -1}}}, fleet.Options{})
			capacity := read.Read(t.Context(), f, read.Want{Quotas: read.AllNamespaces, Now: time.Now}).Facts("w").Kueue.Capacity
			got := map[string]string{}
			for _, c := range capacity.Claims {
				assert.Assert(t, c.Templates == nil)
				got[c.Namespace+"/"+c.Name] = "?"
				if len(c.Requests) > 0 {
					got[c.Namespace+"/"+c.Name] = c.Requests[0].Resources.Cpu().String()
				}
			}
			assert.DeepEqual(t, got, tt.want)
			assert.Equal(t, capacity.Gaps[inspect.PartLimitRanges] != nil, len(tt.refused) > 0)
		})
	}
}

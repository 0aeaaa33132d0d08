package placement_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestLimitsOfPods checks that a LimitRange for whole Pods refuses them by the sum of their containers, with the
// defaults of LimitRanges.
func TestLimitsOfPods(t *testing.T) {
	two := func(requests string) string {
		return `{spec: {template: {spec: {containers: [{name: c, resources: ` + requests + `}, {name: d, resources: ` + requests + `}]}}}}`
	}
	for name, tt := range map[string]struct{ limits, job, message, change string }{
		"allowed":                   {"{type: Pod, max: {cpu: 4}, min: {cpu: 1}}", two("{requests: {cpu: 2}}"), "", ""},
		"together too much":         {"{type: Pod, max: {cpu: 3}}", two("{requests: {cpu: 2}}"), "a Pod requests 4 cpu; LimitRange l allows at most 3 per Pod", "request at most 3 cpu per Pod"},
		"together too little":       {"{type: Pod, min: {cpu: 5}}", two("{requests: {cpu: 2}}"), "a Pod requests 4 cpu; LimitRange l demands at least 5 per Pod", "request at least 5 cpu per Pod"},
		"nothing":                   {"{type: Pod, min: {cpu: 5}}", two("{}"), "a Pod requests 0 cpu; LimitRange l demands at least 5 per Pod", "request at least 5 cpu per Pod"},
		"limits together":           {"{type: Pod, max: {cpu: 3}}", two("{requests: {cpu: 1}, limits: {cpu: 2}}"), "a Pod has a limit of 4 cpu; LimitRange l allows at most 3 per Pod", "limit each Pod to at most 3 cpu"},
		"by its defaults":           {"{type: Container, defaultRequest: {cpu: 2}}, {type: Pod, max: {cpu: 3}}", two("{}"), "a Pod requests 4 cpu; LimitRange l allows at most 3 per Pod", "request at most 3 cpu per Pod"},
		"another resource":          {"{type: Pod, max: {memory: 1Gi}}", two("{requests: {cpu: 2}}"), "", ""},
		"the container's is stated": {"{type: Container, max: {cpu: 1}}, {type: Pod, max: {cpu: 3}}", two("{requests: {cpu: 2}}"), "container c requests 2 cpu; LimitRange l allows at most 1", "request at most 1 cpu in container c"},
	} {
		t.Run(name, func(t *testing.T) {
			p := judged(t, simple("9")+"limits: [{metadata: {namespace: ml, name: l}, spec: {limits: ["+tt.limits+"]}}]", tt.job)
			if tt.message == "" {
				assert.Equal(t, p.Verdict, inspect.Fits, p.Message)
				return
			}
			assert.Equal(t, p.Verdict, inspect.Never, p.Message)
			assert.Equal(t, p.Reason, inspect.OutsideLimits)
			assert.Equal(t, p.Message, tt.message)
			assert.Assert(t, len(p.Changes) > 0)
			assert.Equal(t, p.Changes[0].Message, tt.change+", for w")
		})
	}
}

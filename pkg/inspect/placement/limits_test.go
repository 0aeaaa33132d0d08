package placement_test

import (
	"strings"
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
		"allowed":                   {"{type: Pod, max: {cpu: 4}, min: {cpu: 1}}", two("{limits: {cpu: 2}}"), "", ""},
		"together too much":         {"{type: Pod, max: {cpu: 3}}", two("{requests: {cpu: 2}}"), "a Pod requests 4 cpu; LimitRange l allows at most 3 per Pod", "request at most 3 cpu per Pod, and limit each Pod to that"},
		"no limit":                  {"{type: Pod, max: {cpu: 4}}", two("{requests: {cpu: 2}}"), "a Pod has no cpu limit; LimitRange l requires one of at most 4 per Pod", "limit each Pod to at most 4 cpu"},
		"a limit by default":        {"{type: Container, default: {cpu: 2}}, {type: Pod, max: {cpu: 4}}", two("{}"), "", ""},
		"no limit of a GPU":         {"{type: Pod, max: {nvidia.com/gpu: 4}}", two("{requests: {cpu: 2}}"), "a Pod has no nvidia.com/gpu limit; LimitRange l requires one of at most 4 per Pod", "limit each Pod to 0 nvidia.com/gpu"},
		"ratio":                     {"{type: Pod, maxLimitRequestRatio: {cpu: 2}}", two("{requests: {cpu: 1}, limits: {cpu: 2}}"), "", ""},
		"ratio of a Pod":            {"{type: Pod, maxLimitRequestRatio: {cpu: 1500m}}", two("{requests: {cpu: 1}, limits: {cpu: 2}}"), "a Pod has a limit of 4 cpu and requests 2; LimitRange l allows at most 1500m times its request", "limit each Pod to at most 1500m times its cpu request"},
		"ratio of a container":      {"{type: Container, maxLimitRequestRatio: {cpu: 3}}", two("{requests: {cpu: 1}, limits: {cpu: 4}}"), "container c has a limit of 4 cpu and requests 1; LimitRange l allows at most 3 times its request", "limit container c to at most 3 times its cpu request"},
		"ratio without a limit":     {"{type: Container, maxLimitRequestRatio: {cpu: 3}}", two("{requests: {cpu: 1}}"), "container c has no cpu limit; LimitRange l requires one of at most 3 times its request", "limit container c to at most 3 times its cpu request"},
		"together too little":       {"{type: Pod, min: {cpu: 5}}", two("{requests: {cpu: 2}}"), "a Pod requests 4 cpu; LimitRange l demands at least 5 per Pod", "request at least 5 cpu per Pod"},
		"nothing":                   {"{type: Pod, min: {cpu: 5}}", two("{}"), "a Pod requests 0 cpu; LimitRange l demands at least 5 per Pod", "request at least 5 cpu per Pod"},
		"limits together":           {"{type: Pod, max: {cpu: 3}}", two("{requests: {cpu: 1}, limits: {cpu: 2}}"), "a Pod has a limit of 4 cpu; LimitRange l allows at most 3 per Pod", "limit each Pod to at most 3 cpu"},
		"by its defaults":           {"{type: Container, defaultRequest: {cpu: 2}}, {type: Pod, max: {cpu: 3}}", two("{}"), "a Pod requests 4 cpu; LimitRange l allows at most 3 per Pod", "request at most 3 cpu per Pod, and limit each Pod to that"},
		"another resource":          {"{type: Pod, max: {memory: 1Gi}}", two("{requests: {cpu: 2}}"), "a Pod has no memory limit; LimitRange l requires one of at most 1Gi per Pod", "limit each Pod to at most 1Gi memory, and request 0 (ClusterQueue q has no memory quota)"},
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
			assert.Equal(t, strings.HasPrefix(p.Changes[1].Message, "set a default "), strings.Contains(tt.message, "has no"), p.Changes[1].Message)
		})
	}
}

package cmd

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestUnschedulableAgree checks that check has the fix of trace for Pods that fit on no node.
func TestUnschedulableAgree(t *testing.T) {
	dir := copyWith(t, "pods-unschedulable", "kwok-w1.yaml", func(text string) string {
		const flavor = "- {apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: default-flavor}, spec: {}}\n"
		const node = "- {apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '8', memory: 64Gi, pods: '110'}}}\n"
		return strings.Replace(text, "items:\n", "items:\n"+flavor+node, 1)
	})
	const fix = "ix: use Pods that do not select gpu=h100, which no node on kwok-w1 has, then delete Job default/train, and create it again\n"
	checked, _, _ := run(t, "check", "-n", "default", "--grace", "0s", "--from", dir)
	assert.Equal(t, strings.Count(checked, fix), 1, checked)
	traced, _, _ := run(t, "trace", "train", "-n", "default", "--from", dir, "-o", "wide")
	assert.Equal(t, strings.Count(traced, fix), 2, traced)
	assert.Assert(t, !strings.Contains(traced, "add a matching node"), traced)
}

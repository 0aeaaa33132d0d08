package kubecontext

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestShortRefusals(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`list localqueues.kueue.x-k8s.io: localqueues.kueue.x-k8s.io is forbidden: User "dev" cannot list resource "localqueues" in API group "kueue.x-k8s.io" in the namespace "ml"`, "dev may not list localqueues.kueue.x-k8s.io in namespace ml"},
		{`get jobs.batch "sweep": jobs.batch "sweep" is forbidden: User "dev" cannot get resource "jobs" in API group "batch" in the namespace "ml"`, "dev may not get jobs.batch in namespace ml"},
		{`queues could not be read: jobs.batch is forbidden: User "dev" cannot list resource "jobs" in API group "batch" at the cluster scope`, "queues could not be read: dev may not list jobs.batch in all namespaces"},
		{`namespaces "ml" is forbidden: User "dev" cannot get resource "namespaces" in API group "" at the cluster scope`, "dev may not get namespaces"},
		{`pods "a" is forbidden: User "dev" cannot get resource "pods/log" in API group "" in the namespace "ml": RBAC: role.rbac.authorization.k8s.io "x" not found`, `dev may not get pods/log in namespace ml: RBAC: role.rbac.authorization.k8s.io "x" not found`},
		{`jobs.batch is forbidden: User "dev" cannot patch resource "jobs/status" in API group "batch"`, "dev may not patch jobs.batch/status"},
		{`jobs.batch "small" is forbidden: exceeded quota: q`, `jobs.batch "small" is forbidden: exceeded quota: q`},
	} {
		assert.Equal(t, ShortRefusals(tt.text), tt.want)
	}
}

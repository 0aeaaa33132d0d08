package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

func TestReferences(t *testing.T) {
	mirror := parsed(t, `
apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      initContainers:
      - name: setup
        envFrom:
        - configMapRef: {name: from-init}
        - secretRef: {name: from-init, optional: true}
      containers:
      - name: main
        env:
        - {name: A, valueFrom: {configMapKeyRef: {name: settings, key: a}}}
        - {name: B, valueFrom: {configMapKeyRef: {name: settings, key: b, optional: true}}}
        - {name: C, valueFrom: {secretKeyRef: {name: token, key: c}}}
        - {name: D, value: plain}
        - {name: E, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
      ephemeralContainers:
      - name: debug
        envFrom: [{configMapRef: {name: not-of-a-template}}]
      imagePullSecrets: [{name: pull}, {name: token}, {}]
      volumes:
      - {name: a, configMap: {name: optional-first, optional: true, items: [{key: x, path: x}]}}
      - {name: b, configMap: {name: optional-first, items: [{key: z, path: z}]}}
      - {name: c, secret: {secretName: files, optional: true}}
      - name: d
        projected:
          sources:
          - configMap: {name: projected, items: [{key: p, path: p}]}
          - secret: {name: projected}
          - serviceAccountToken: {path: token}
      - {name: e, azureFile: {secretName: azure, shareName: s}}
      - {name: f, cephfs: {monitors: [m], secretRef: {name: ceph}}}
      - {name: g, csi: {driver: d, nodePublishSecretRef: {name: csi}}}
      - {name: h, novelty: {secretRef: {name: novel}}}
      - {name: i, emptyDir: {}}
`)
	templates, unread := podsOf(delegation.Job(), mirror)
	assert.Equal(t, len(unread), 0)
	var got []string
	for _, r := range referencesOf(templates) {
		line := r.kind + " " + r.name + " by " + r.by
		if r.optional {
			line += " optional"
		}
		if r.soft {
			line += " soft"
		}
		if len(r.keys) > 0 {
			line += " keys " + strings.Join(slices.Sorted(maps.Keys(r.keys)), ",")
		}
		got = append(got, line)
	}
	assert.DeepEqual(t, got, []string{
		"ConfigMap from-init by container setup",
		"ConfigMap optional-first by volume b keys z",
		"ConfigMap projected by volume d keys p",
		"ConfigMap settings by container main keys a",
		"Secret azure by volume e",
		"Secret ceph by volume f",
		"Secret csi by volume g",
		"Secret files by volume c optional",
		"Secret from-init by container setup optional",
		"Secret novel by volume h",
		"Secret projected by volume d",
		"Secret pull by imagePullSecrets soft",
		"Secret token by container main keys c",
	})
}

func TestPodOf(t *testing.T) {
	mirror := parsed(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml}
spec:
  template:
    metadata: {labels: {team: a}, annotations: {note: b}}
    spec: {novelty: kept, restartPolicy: OnFailure}
`)
	before := mirror.DeepCopy()
	templates, _ := podsOf(delegation.Job(), mirror)
	pod := (&check{kind: delegation.Job(), mirror: mirror}).podOf(&templates[0])
	assert.DeepEqual(t, mirror, before)
	assert.DeepEqual(t, pod.GetLabels(), map[string]string{"team": "a", "job-name": "train", jobNameLabel: "train"})
	assert.DeepEqual(t, pod.GetAnnotations(), map[string]string{"note": "b"})
	assert.DeepEqual(t, pod.Object["spec"], map[string]any{"novelty": "kept", "restartPolicy": "OnFailure"})
	assert.Equal(t, pod.GetNamespace()+" "+pod.GetGenerateName(), "ml train-")

	pod.Object["spec"] = map[string]any{"serviceAccountName": "a", "serviceAccount": "a", "priorityClassName": "p", "priority": int64(1)}
	assert.Assert(t, removeReference(pod, named("ServiceAccount", "ml", "a")))
	assert.Assert(t, removeReference(pod, named("PriorityClass", "", "p")))
	assert.Equal(t, fmt.Sprint(pod.Object["spec"]), "map[]")
	// References to these cannot be removed.
	assert.Assert(t, !removeReference(pod, named("PriorityClass", "", "p")))
	assert.Assert(t, !removeReference(pod, named("ServiceAccount", "ml", "default")))
	assert.Assert(t, !removeReference(pod, named("ResourceQuota", "ml", "q")))
}

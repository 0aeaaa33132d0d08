package logs_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
)

// cluster is an API server with Pods and their logs, which it serves like a kubelet. It can cut
// connections.
type cluster struct {
	t      *testing.T
	name   string
	client kubernetes.Interface

	mu      sync.Mutex
	changed chan struct{}
	version int
	pods    map[string]*corev1.Pod
	events  []event
	logs    map[string][]*logOfRun
	// cuts counts how often connections to logs were cut. partial is the last text before a cut.
	cuts    int
	partial string
	// refuse, if set, is the answer to requests for logs.
	refuse *apierrors.StatusError
	asked  []string
	open   int
	// breakOff is the number of answers that break off in the middle.
	breakOff int
}

type event struct {
	version int
	kind    string
	pod     *corev1.Pod
}

// logOfRun is the log of one run of a container.
type logOfRun struct {
	lines   []line
	isEnded bool
}

type line struct {
	at   time.Time
	text string
}

// epoch is the time of the first line.
var epoch = time.Date(2026, 8, 30, 6, 0, 0, 0, time.UTC)

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, name: "worker", changed: make(chan struct{}), pods: map[string]*corev1.Pod{}, logs: map[string][]*logOfRun{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/ml/pods", c.list)
	mux.HandleFunc("GET /api/v1/namespaces/ml/pods/{pod}", c.get)
	mux.HandleFunc("GET /api/v1/namespaces/ml/pods/{pod}/log", c.log)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	assert.NilError(t, err)
	c.client = client
	return c
}

// target returns the Job whose Pods newPod creates.
func (c *cluster) target() logs.Target {
	return logs.Target{Client: c.client, Job: &inspect.Job{
		Context: c.name, APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "uid-of-train", Status: "Running",
	}}
}

// change changes the cluster under its lock, and wakes all waiters.
func (c *cluster) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits for a condition that only changes of the cluster can fulfil.
func (c *cluster) await(what string, holds func() bool) {
	c.t.Helper()
	awaitChange(c.t, &c.mu, func() <-chan struct{} { return c.changed }, holds, func() string { return fmt.Sprintf("%s; asked was %q", what, c.asked) })
}

// awaitChange waits for a condition under a lock. next returns the channel that the next change closes and
// replaces under the lock. describe describes what was waited for.
func awaitChange(t *testing.T, mu sync.Locker, next func() <-chan struct{}, holds func() bool, describe func() string) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		mu.Lock()
		ok, changed := holds(), next()
		mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("waited for %s", describe())
		}
	}
}

// option changes a Pod.
type option func(*corev1.Pod)

func index(n int) option {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(n)}
	}
}

func containers(names ...string) option {
	return func(p *corev1.Pod) {
		p.Spec.Containers = nil
		for _, name := range names {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: name})
		}
	}
}

func ofOtherJob(p *corev1.Pod) { p.OwnerReferences[0].UID = "another" }

// newPod creates a Pod whose containers have not started.
func (c *cluster) newPod(name string, options ...option) {
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ml", Name: name, UID: types.UID("uid-of-" + name), Labels: map[string]string{batchv1.JobNameLabel: "train"},
			CreationTimestamp: metav1.NewTime(epoch.Add(time.Duration(len(c.pods)) * time.Second)),
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "train", UID: "uid-of-train", Controller: new(true)}},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, o := range options {
		o(p)
	}
	for _, container := range p.Spec.Containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
		})
	}
	c.change(func() { c.store("ADDED", p) })
}

// store stores the current version of a Pod.
func (c *cluster) store(kind string, p *corev1.Pod) {
	c.version++
	p.ResourceVersion = strconv.Itoa(c.version)
	c.events = append(c.events, event{c.version, kind, p.DeepCopy()})
	if kind == "DELETED" {
		delete(c.pods, p.Name)
		return
	}
	c.pods[p.Name] = p
}

// update changes a Pod.
func (c *cluster) update(name string, change func(*corev1.Pod)) {
	c.change(func() {
		p := c.pods[name].DeepCopy()
		change(p)
		c.store("MODIFIED", p)
	})
}

func statusIn(p *corev1.Pod, container string) *corev1.ContainerStatus {
	i := slices.IndexFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == container })
	return &p.Status.ContainerStatuses[i]
}

// run starts the next run of a container.
func (c *cluster) run(pod, container string) {
	c.change(func() {
		key := pod + "/" + container
		n := len(c.logs[key])
		c.logs[key] = append(c.logs[key], &logOfRun{})
		p := c.pods[pod].DeepCopy()
		p.Status.Phase = corev1.PodRunning
		s := statusIn(p, container)
		if s.State.Terminated != nil {
			s.LastTerminationState = s.State
		}
		s.RestartCount, s.ContainerID = int32(n), fmt.Sprintf("containerd://%s-%d", key, n)
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		c.store("MODIFIED", p)
	})
}

// write makes the current run of a container write lines, at increasing times.
func (c *cluster) write(pod, container string, texts ...string) {
	c.change(func() {
		runs := c.logs[pod+"/"+container]
		written := 0
		for _, r := range runs {
			written += len(r.lines)
		}
		last := runs[len(runs)-1]
		for i, text := range texts {
			last.lines = append(last.lines, line{epoch.Add(time.Duration(written+i) * 300 * time.Millisecond), text})
		}
	})
}

// exit ends the current run of a container, and its log at the same moment: between the two, a
// follower would wait for the clock.
func (c *cluster) exit(pod, container string) {
	c.update(pod, func(p *corev1.Pod) {
		c.endLog(pod, container)
		s := statusIn(p, container)
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ContainerID: s.ContainerID}}
	})
}

// endLog ends the log of a container's current run. It is called by change or update.
func (c *cluster) endLog(pod, container string) {
	runs := c.logs[pod+"/"+container]
	runs[len(runs)-1].isEnded = true
}

// succeed ends a Pod with all of its containers.
func (c *cluster) succeed(pod string) {
	for _, container := range c.pods[pod].Spec.Containers {
		if runs := c.logs[pod+"/"+container.Name]; len(runs) > 0 {
			c.exit(pod, container.Name)
		}
	}
	c.update(pod, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
}

// remove deletes a Pod and its logs.
func (c *cluster) remove(pod string) {
	c.change(func() {
		for key, runs := range c.logs {
			if strings.HasPrefix(key, pod+"/") {
				runs[len(runs)-1].isEnded = true
				delete(c.logs, key)
			}
		}
		c.store("DELETED", c.pods[pod].DeepCopy())
	})
}

// cut cuts all connections to logs, in the middle of a line.
func (c *cluster) cut(partial string) { c.change(func() { c.cuts++; c.partial = partial }) }

// awaitFollowers waits until a number of logs are being followed.
func (c *cluster) awaitFollowers(n int) {
	c.t.Helper()
	c.await(fmt.Sprintf("%d followers", n), func() bool { return c.open == n })
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if status, ok := value.(*metav1.Status); ok {
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.WriteHeader(int(status.Code))
	}
	_ = json.NewEncoder(w).Encode(value)
}

func notFound(w http.ResponseWriter, pod string) {
	answer(w, &apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod).ErrStatus)
}

func (c *cluster) get(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	p := c.pods[r.PathValue("pod")].DeepCopy()
	c.mu.Unlock()
	if p == nil {
		notFound(w, r.PathValue("pod"))
		return
	}
	answer(w, p)
}

func (c *cluster) list(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("sendInitialEvents") != "" {
		invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
		answer(w, &invalid.ErrStatus)
		return
	}
	if q.Get("watch") == "" {
		c.mu.Lock()
		list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(c.version)}}
		for _, p := range c.pods {
			if isSelected(p, q) {
				list.Items = append(list.Items, *p)
			}
		}
		c.mu.Unlock()
		answer(w, list)
		return
	}
	after, _ := strconv.Atoi(q.Get("resourceVersion"))
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for {
		c.mu.Lock()
		events, changed := slices.Clone(c.events), c.changed
		c.mu.Unlock()
		for _, e := range events {
			if e.version > after && isSelected(e.pod, q) {
				after = e.version
				_ = json.NewEncoder(w).Encode(map[string]any{"type": e.kind, "object": e.pod})
			}
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}

func isSelected(p *corev1.Pod, q url.Values) bool {
	selector, err := labels.Parse(q.Get("labelSelector"))
	field, err2 := fields.ParseSelector(q.Get("fieldSelector"))
	return err == nil && err2 == nil && selector.Matches(labels.Set(p.Labels)) && field.Matches(fields.Set{"metadata.name": p.Name})
}

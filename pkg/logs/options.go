package logs

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// Options say which logs are read, and how much of them. They mean what the flags
// of kubectl logs do.
type Options struct {
	// Container is the name of the one to read in each pod; "" is the pod's default
	// container, or all of them where AllContainers is set.
	Container     string
	AllContainers bool
	// Previous reads the run before a container's last restart.
	Previous bool
	// Timestamps keeps the time in front of each line.
	Timestamps bool
	// Tail is how many of the last lines to begin with; less than zero is all.
	Tail int64
	// Since and SinceTime leave out what is older; zero and nil are all.
	Since     time.Duration
	SinceTime *metav1.Time
	// MaxRequests is how many logs are read at the same time.
	MaxRequests int
}

// Container is one whose log is read.
type Container struct {
	// Context is the kubeconfig context that its cluster is reached through.
	Context   string
	Pod, Name string
}

// Sink takes what is read. It may be called by several goroutines.
type Sink interface {
	// Expect tells of a container whose lines may come.
	Expect(Container)
	// Write takes lines of a container, as its program wrote them. Only the last may be
	// without a newline: it is the very last one, or a long one, and there continues
	// says that text goes on with what was written last of this container. text is not
	// to be kept.
	Write(c Container, text []byte, continues bool) error
}

// Reader reads logs of one cluster at a time.
type Reader struct {
	Options
	Sink  Sink
	Clock clock.WithTicker
	// Note is told, one call at a time, what a person should know beside the lines.
	Note func(text string)

	notes sync.Mutex
	once  map[string]bool
}

// note tells something.
func (r *Reader) note(text string) {
	r.notes.Lock()
	defer r.notes.Unlock()
	r.Note(text)
}

// noteOnce tells something, but never twice under the same key.
func (r *Reader) noteOnce(key, text string) {
	r.notes.Lock()
	defer r.notes.Unlock()
	if r.once[key] {
		return
	}
	if r.once == nil {
		r.once = map[string]bool{}
	}
	r.once[key] = true
	r.Note(text)
}

// request is how a log is asked for from the beginning: as far back as the options
// say. elapsed is how long ago it was asked for the first time.
func (o *Options) request(elapsed time.Duration) corev1.PodLogOptions {
	request := corev1.PodLogOptions{SinceTime: o.SinceTime}
	if o.Tail >= 0 {
		request.TailLines = new(o.Tail)
	}
	if o.Since > 0 {
		// The API counts whole seconds, back from when it is asked.
		request.SinceSeconds = new(int64((o.Since + elapsed + time.Second - 1) / time.Second))
	}
	return request
}

// isBounded says whether a request leaves older lines out.
func isBounded(o corev1.PodLogOptions) bool {
	return o.TailLines != nil || o.SinceSeconds != nil || o.SinceTime != nil
}

package logs

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// Options select which logs are read, and how much of them, as the flags of kubectl logs do.
type Options struct {
	// Container is the name of the container to read in each Pod; "" means the Pod's default
	// container, or all of them with AllContainers.
	Container     string
	AllContainers bool
	// Previous reads the run before a container's last restart.
	Previous bool
	// Timestamps keeps the time in front of each line.
	Timestamps bool
	// Tail is the number of last lines to begin with; a negative value means all.
	Tail int64
	// Since and SinceTime omit older lines; zero and nil mean none.
	Since     time.Duration
	SinceTime *metav1.Time
	// MaxRequests is the number of logs that are read at the same time.
	MaxRequests int
}

// Container is a container whose log is read.
type Container struct {
	// Context is the kubeconfig context of its cluster.
	Context   string
	Pod, Name string
}

// Sink receives what is read. Several goroutines may call it.
type Sink interface {
	// Expect announces a container whose lines may come.
	Expect(Container)
	// Write receives lines of a container, as its program wrote them. Only the last one may lack
	// a newline, if it is the last line of the log or a long one. continues means that text
	// continues what was last written for this container. Write must not keep text.
	Write(c Container, text []byte, continues bool) error
}

// Reader reads logs of one cluster at a time.
type Reader struct {
	Options
	Sink  Sink
	Clock clock.WithTicker
	// Note receives messages for the user besides the lines, one at a time.
	Note func(text string)

	notes sync.Mutex
	noted map[string]bool
}

// note sends a message.
func (r *Reader) note(text string) {
	r.notes.Lock()
	defer r.notes.Unlock()
	r.Note(text)
}

// noteOnce sends a message, but never twice for the same key.
func (r *Reader) noteOnce(key, text string) {
	r.notes.Lock()
	defer r.notes.Unlock()
	if r.noted[key] {
		return
	}
	if r.noted == nil {
		r.noted = map[string]bool{}
	}
	r.noted[key] = true
	r.Note(text)
}

// request returns the first request for a log, as far back as the options say. elapsed is the
// time since the log was first requested.
func (o *Options) request(elapsed time.Duration) corev1.PodLogOptions {
	request := corev1.PodLogOptions{SinceTime: o.SinceTime}
	if o.Tail >= 0 {
		request.TailLines = new(o.Tail)
	}
	if o.Since > 0 {
		// The API counts whole seconds, back from the time of the request.
		request.SinceSeconds = new(int64((o.Since + elapsed + time.Second - 1) / time.Second))
	}
	return request
}

// isBounded reports whether a request omits older lines.
func isBounded(o corev1.PodLogOptions) bool {
	return o.TailLines != nil || o.SinceSeconds != nil || o.SinceTime != nil
}

package fleet

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Cluster is an API server, as one context reaches it.
type Cluster struct {
	// Context is the context's name.
	Context string
	// Stamp is by what the cluster may be known again where its UID is "": a fingerprint
	// of its address and of the authority that has signed its certificate. It is ""
	// where these prove nothing. The same cluster may have several.
	Stamp string
	// Namespace is the one to look at where the user wants a single one.
	Namespace string
	// Server is the URL of its API server, and CA the Fingerprint of the
	// certificate authority that the context trusts, "" if none is named.
	Server, CA string
	// Bounded is whether a list of all namespaces is not all there is: see Context.
	Bounded bool

	uid string
	// identified is closed when uid is known; nil where nobody is being asked for it.
	identified <-chan struct{}
	// endpoint is where it is, "" if that does not tell it from others.
	endpoint string
	// proofs are the uids of what was seen in a namespace, where that was looked at to tell
	// which cluster it is.
	proofs map[string][]string
	config *rest.Config
	http   *http.Client
	clients
	door  *door
	meter *skewMeter
	// cacheDir is the folder in which discovery is cached, "" for none.
	cacheDir string

	mu        sync.Mutex
	discovery *Discovery
	// memory is what is known of it, nil where it is not watched.
	memory *memory
	// recorder is shown what is read of it, nil for none.
	recorder atomic.Pointer[Recorder]
}

func newCluster(c Context, now clock.PassiveClock, cacheDir string) (*Cluster, error) {
	var recorded *kubecontext.RecordedError
	if errors.As(c.Err, &recorded) {
		return nil, recorded
	}
	if c.Err != nil {
		return nil, &kubecontext.ConfigError{Err: c.Err}
	}
	if _, _, err := rest.DefaultServerUrlFor(c.Config); err != nil {
		return nil, &kubecontext.ConfigError{Err: err}
	}
	// One HTTP client for all API clients of the context: one connection, one
	// run of its credential plugin.
	config, meter := rest.CopyConfig(c.Config), &skewMeter{clock: now}
	config.Wrap(meter.wrap)
	own, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, &kubecontext.ConfigError{Err: err}
	}
	entrance, err := newDoor(config, own.Transport)
	if err != nil {
		return nil, &kubecontext.ConfigError{Err: err}
	}
	if c.Config.Transport != nil {
		// It answers in place of a server, as a bundle does; the server itself may
		// say something else.
		cacheDir = ""
	}
	authority := c.authority()
	through := &http.Client{Transport: entrance, Timeout: own.Timeout}
	made, err := newClients(config, through)
	if err != nil {
		return nil, &kubecontext.ConfigError{Err: err}
	}
	return &Cluster{
		Context: c.Name, Namespace: c.Namespace, Server: config.Host, CA: authority, Bounded: c.Bounded,
		Stamp: stamp(config, authority), endpoint: endpoint(config, authority),
		config: config, door: entrance, http: through, clients: *made,
		meter: meter, cacheDir: cacheDir,
	}, nil
}

// Kubectl starts a command for a person: on this cluster, and in a namespace, or
// in none if that is "".
func (c *Cluster) Kubectl(namespace string, words ...string) command.Command {
	return command.Kubectl(c.Context, namespace, words...)
}

// UID is the cluster's identity, the UID of its kube-system Namespace; "" where no context
// that is known to lead there may read that. While the only cluster of a fleet is being asked
// for it, it is waited for.
func (c *Cluster) UID() string {
	if c.identified != nil {
		<-c.identified
	}
	return c.uid
}

// SetUID tells which cluster it is.
func (c *Cluster) SetUID(uid string) {
	_ = c.UID() // Nobody sets it after this.
	c.uid = uid
}

// identity asks which cluster it is: "" where the user may not read that, which is no error.
func (c *Cluster) identity(ctx context.Context) (string, error) {
	ns, err := c.Metadata().Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).
		Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	}
	return string(ns.UID), nil
}

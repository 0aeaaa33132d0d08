package fleet

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Cluster is an API server as one context reaches it.
type Cluster struct {
	// Context is the context's name.
	Context string
	// Namespace is the default namespace for commands about a single namespace.
	Namespace string
	// Server is the URL of the API server. CA is the Fingerprint of the certificate authority
	// that the context trusts, or "".
	Server, CA string
	// IsPartial is whether a list of all namespaces is incomplete: see Context.
	IsPartial bool

	// identified is closed when uid is known; nil if no request for it is running.
	identified <-chan struct{}
	// endpoint is the address of the context. Several clusters may share one.
	endpoint string
	config   *rest.Config
	http     *http.Client
	clients
	transport *sharedTransport
	meter     *skewMeter
	// cacheDir is the directory of the discovery cache; "" for none.
	cacheDir string

	// mu protects uid, isIntroduced, namespaces and discovery: a question that was abandoned may still use
	// them.
	mu sync.Mutex
	// uid is the UID of kube-system, "" if it is not known. isIntroduced is whether another context
	// has read it, for which this one may lack the right.
	uid          string
	isIntroduced bool
	// namespaces are the UIDs of the namespaces that were requested; "" for unreadable ones.
	namespaces map[string]string
	discovery  *Discovery
	// cache holds lists that are kept current; nil if the cluster is not watched.
	cache atomic.Pointer[cache.Cache]
	// recorder receives everything that is read; nil for none.
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
	// All API clients of the context share one HTTP client: one connection, and one run of its
	// credential plugin.
	config, meter := rest.CopyConfig(c.Config), &skewMeter{clock: now}
	config.Wrap(meter.wrap)
	own, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, &kubecontext.ConfigError{Err: err}
	}
	shared, err := newTransport(config, own.Transport)
	if err != nil {
		return nil, &kubecontext.ConfigError{Err: err}
	}
	if c.Config.Transport != nil {
		// This transport answers instead of a server, as snapshots do. The real server may serve
		// another API.
		cacheDir = ""
	}
	authority := c.authority()
	through := &http.Client{Transport: shared, Timeout: own.Timeout}
	opened, err := newClients(config, through)
	if err != nil {
		return nil, &kubecontext.ConfigError{Err: err}
	}
	return &Cluster{
		Context: c.Name, Namespace: c.Namespace, Server: config.Host, CA: authority, IsPartial: c.IsPartial,
		endpoint: endpoint(config, authority), config: config, transport: shared, http: through, clients: *opened,
		meter: meter, cacheDir: cacheDir,
	}, nil
}

// Kubectl returns a kubectl command for this cluster and a namespace; "" for none.
func (c *Cluster) Kubectl(namespace string, words ...string) command.Command {
	return command.Kubectl(c.Context, namespace, words...)
}

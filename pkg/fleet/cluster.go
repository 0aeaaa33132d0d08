package fleet

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Cluster is an API server, as one context reaches it.
type Cluster struct {
	// Context is the context's name.
	Context string
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
	// isIntroduced is whether another context has read uid, and this one may not.
	isIntroduced bool
	// endpoint is where the context leads; several clusters may have the same.
	endpoint string
	config   *rest.Config
	http     *http.Client
	clients
	door  *door
	meter *skewMeter
	// cacheDir is the folder in which discovery is cached, "" for none.
	cacheDir string

	mu sync.Mutex
	// namespaces are the UIDs of namespaces that were asked for, "" for unreadable ones.
	namespaces map[string]string
	discovery  *Discovery
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
		endpoint: endpoint(config, authority), config: config, door: entrance, http: through, clients: *made,
		meter: meter, cacheDir: cacheDir,
	}, nil
}

// Kubectl starts a command for a person: on this cluster, and in a namespace, or
// in none if that is "".
func (c *Cluster) Kubectl(namespace string, words ...string) command.Command {
	return command.Kubectl(c.Context, namespace, words...)
}

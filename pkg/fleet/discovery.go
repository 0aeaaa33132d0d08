package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	memcache "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// cacheTTL is for how long kubectl believes what it has cached of discovery
// (cli-runtime: pkg/genericclioptions/config_flags.go).
const cacheTTL = 6 * time.Hour

// Discovery tells what a cluster serves, as of when it was first asked. It is safe
// for concurrent use.
//
// Answers are kept in kubectl's own cache, but not believed without asking: a kind
// that was installed a minute ago is there. While nothing has changed, the server
// says so and sends nothing else; schemas, whose addresses change with them, are
// not asked for again at all.
type Discovery struct {
	client discovery.CachedDiscoveryInterfaceWithContext

	mu sync.Mutex
	// schemas are where the server publishes the schemas of a group and version, by
	// the path of that; nil where nobody has asked.
	schemas map[string]openapi.GroupVersionWithContext
}

// API is what a cluster serves.
type API struct {
	// Lists are the resources of each group and version. Those of one group stand
	// together, the version that the server prefers first.
	Lists []*metav1.APIResourceList
	// Failed are the groups and versions of which it is not known what they serve,
	// such as those of another API server that is down, and why. Where not even the
	// versions are known, there is none.
	Failed map[schema.GroupVersion]error
}

// ErrGroupDown is why it is not known what a group serves whose own API server does
// not answer.
var ErrGroupDown = errors.New("its API server does not respond")

// Discovery makes what tells about the cluster's API; in one round of questions it
// is always the same.
func (c *Cluster) Discovery() (*Discovery, error) {
	// This is the beginning of the time for which it is believed.
	_, _ = Keep(c, discoveryKey, Seldom, func() (struct{}, error) { return struct{}{}, nil })
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.discovery == nil {
		client, err := c.discoveryClient()
		if err != nil {
			return nil, err
		}
		c.discovery = &Discovery{client: client}
	}
	return c.discovery, nil
}

// discoveryKey is by what a memory knows what the cluster serves.
const discoveryKey = "discovery"

// forget has the next one who asks for Discovery find out anew.
func (c *Cluster) forget() {
	if c.memory != nil && c.memory.has(discoveryKey) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discovery = nil
}

func (c *Cluster) discoveryClient() (discovery.CachedDiscoveryInterfaceWithContext, error) {
	if c.cacheDir == "" {
		client, err := discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
		if err != nil {
			return nil, err
		}
		return memcache.NewMemCacheClientWithContext(client), nil
	}
	// It wraps the transport of all other clients.
	client, err := disk.NewCachedDiscoveryClientForConfig(
		c.door.settings(c.config), discoveryDir(c.cacheDir, c.config.Host), filepath.Join(c.cacheDir, "http"), cacheTTL)
	if err != nil {
		return nil, err
	}
	client.InvalidateWithContext(context.Background())
	return checkedDiscovery{client}, nil
}

// discoveryDir returns the directory in which kubectl caches what the API server of a host
// serves: cli-runtime names it like the host, with an underscore for each character that
// file names may not have (pkg/genericclioptions/config_flags.go). A test holds the two
// together. kubectl also keeps "..", by which https://host/../../x leaves the cache;
// here it becomes "__".
func discoveryDir(cacheDir, host string) string {
	for _, scheme := range []string{"https://", "http://"} {
		host = strings.Replace(host, scheme, "", 1)
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("_(/.)", r):
			return r
		}
		return '_'
	}, host)
	segments := strings.Split(name, "/")
	for i := range segments {
		if segments[i] == ".." {
			segments[i] = "__"
		}
	}
	return filepath.Join(cacheDir, "discovery", strings.Join(segments, "/"))
}

// API asks what the cluster serves. Groups that fail are told in it, and are no
// error.
func (d *Discovery) API(ctx context.Context) (*API, error) {
	groups, lists, err := d.client.ServerGroupsAndResourcesWithContext(quiet(ctx))
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case apierrors.IsForbidden(err):
		// What the server says to that is lost on the way.
		return nil, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("the user may not read /api and /apis. Grant the ClusterRole system:discovery"))
	case err != nil && !partial:
		return nil, err
	}
	if err := cmp.Or(checkGroups(groups), checkLists(lists)); err != nil {
		return nil, err
	}
	all := &API{Lists: slices.Clone(lists), Failed: map[schema.GroupVersion]error{}}
	for gv, err := range failed {
		switch {
		case errors.As(err, &discovery.StaleGroupVersionError{}):
			all.Failed[gv] = ErrGroupDown
		case strings.HasPrefix(err.Error(), "received empty response"):
			// client-go has no type for that (discovery/cached/memory). It has no
			// resources, as is usual for metrics that nobody has defined.
		default:
			all.Failed[gv] = err
		}
	}
	rank := map[string]int{}
	for _, g := range groups {
		if len(g.Versions) == 0 && !all.fails(g.Name) {
			// What client-go makes of such a group on its way through the cache, where a
			// version that is down beside others that are not gets lost.
			all.Failed[schema.GroupVersion{Group: g.Name}] = ErrGroupDown
		}
		rank[g.PreferredVersion.GroupVersion] = len(rank) + 1
		for _, v := range g.Versions {
			if rank[v.GroupVersion] == 0 {
				rank[v.GroupVersion] = len(rank) + 1
			}
		}
	}
	slices.SortStableFunc(all.Lists, func(a, b *metav1.APIResourceList) int {
		return cmp.Compare(rank[a.GroupVersion], rank[b.GroupVersion])
	})
	return all, nil
}

func (a *API) fails(group string) bool {
	for gv := range a.Failed {
		if gv.Group == group {
			return true
		}
	}
	return false
}

// Schemas returns the OpenAPI v3 document of a group and version, as JSON. It is
// nil where the server publishes none.
func (d *Discovery) Schemas(ctx context.Context, gv schema.GroupVersion) ([]byte, error) {
	var document []byte
	// The address of a schema changes with it, and API servers redirect from the old one to
	// the new one. Redirects are not followed, so the new address is read from the list. While
	// definitions are installed, that changes several times a second.
	backoff := wait.Backoff{Steps: 4, Duration: 50 * time.Millisecond, Factor: 3}
	err := retry.OnError(backoff, isMoved, func() (err error) {
		if document, err = d.schemasOf(ctx, gv); isMoved(err) {
			d.mu.Lock()
			d.schemas = nil
			d.mu.Unlock()
		}
		return err
	})
	return document, err
}

func isMoved(err error) bool {
	moved := (*RedirectError)(nil)
	return errors.As(err, &moved)
}

func (d *Discovery) schemasOf(ctx context.Context, gv schema.GroupVersion) ([]byte, error) {
	published, err := d.published(ctx)
	if err != nil {
		return nil, fmt.Errorf("read its OpenAPI schemas: %w", err)
	}
	path := "apis/" + gv.String()
	if gv.Group == "" {
		path = "api/" + gv.Version
	}
	one, ok := published[path]
	if !ok {
		return nil, nil
	}
	document, err := one.SchemaWithContext(quiet(ctx), runtime.ContentTypeJSON)
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI schemas of %s: %w", gv, err)
	}
	return document, nil
}

// published are the schemas that there are: none where the server is too old to
// publish any (before Kubernetes 1.24).
func (d *Discovery) published(ctx context.Context) (map[string]openapi.GroupVersionWithContext, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.schemas != nil {
		return d.schemas, nil
	}
	// The cached client's own way would remember an error for ever.
	schemas, err := openapi.NewClientWithContext(d.client.RESTClient()).PathsWithContext(quiet(ctx))
	if apierrors.IsNotFound(err) {
		schemas, err = map[string]openapi.GroupVersionWithContext{}, nil
	}
	if err != nil {
		return nil, err
	}
	d.schemas = schemas
	return schemas, nil
}

// quiet keeps client-go from writing to the log what it also returns as an error;
// with -v=2 and above it may.
func quiet(ctx context.Context) context.Context {
	if klog.FromContext(ctx).V(2).Enabled() {
		return ctx
	}
	return klog.NewContext(ctx, klog.New(nil))
}

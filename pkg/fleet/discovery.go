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
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	memcache "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/openapi"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
)

// cacheTTL is how long kubectl trusts its discovery cache (cli-runtime:
// pkg/genericclioptions/config_flags.go).
const cacheTTL = 6 * time.Hour

// Discovery returns what a cluster serves, as of the first request. It is safe for concurrent
// use.
//
// It uses kubectl's cache, but revalidates it, so that it finds a kind that was installed a
// minute ago. If nothing has changed, the server says so and sends no content. Schemas are not
// requested again at all: their addresses change with them.
type Discovery struct {
	client discovery.CachedDiscoveryInterfaceWithContext

	mu sync.Mutex
	// schemas are the addresses of schemas by the path of their group and version; nil before the
	// first request.
	schemas map[string]openapi.GroupVersionWithContext
}

// API is the API that a cluster serves.
type API struct {
	// Lists are the resources of each group and version. Lists of one group are adjacent, the
	// server's preferred version first.
	Lists []*metav1.APIResourceList
	// Failed are the groups and versions whose resources are unknown, with the reason. For
	// example, their aggregated API server may be down. If even the versions are unknown, the
	// version is "".
	Failed map[schema.GroupVersion]error
}

// errGroupDown means that the aggregated API server of a group does not answer.
var errGroupDown = errors.New("its API server does not respond")

// Discovery returns the Discovery of the cluster. It is the same during one round of questions.
func (c *Cluster) Discovery() (*Discovery, error) {
	// This starts the period for which the answers are trusted.
	_, _ = cache.Keep(c.cache.Load(), discoveryKey, cache.Seldom, func() (struct{}, error) { return struct{}{}, nil })
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

// discoveryKey is the key of discovery in a Cache.
const discoveryKey = "discovery"

// forget makes the next call of Discovery send new requests.
func (c *Cluster) forget() {
	if c.cache.Load().HasCurrent(discoveryKey) {
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
	// This client wraps the transport of all other clients.
	client, err := disk.NewCachedDiscoveryClientForConfig(
		c.transport.settings(c.config), discoveryDir(c.cacheDir, c.config.Host), filepath.Join(c.cacheDir, "http"), cacheTTL)
	if err != nil {
		return nil, err
	}
	client.InvalidateWithContext(context.Background())
	return checkedDiscovery{client}, nil
}

// discoveryDir returns the directory in which kubectl caches the API of a host. cli-runtime
// derives its name from the host, and replaces characters that file names may not contain with
// underscores (pkg/genericclioptions/config_flags.go). A test compares both. Unlike kubectl, it
// replaces "..", by which https://host/../../x would leave the cache, with "__".
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

// API requests what the cluster serves. Groups that fail are in API.Failed, and cause no error.
func (d *Discovery) API(ctx context.Context) (*API, error) {
	groups, lists, err := d.client.ServerGroupsAndResourcesWithContext(cache.Quiet(ctx))
	failed, partial := discovery.GroupDiscoveryFailedErrorGroups(err)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case apierrors.IsForbidden(err):
		// client-go drops the server's message.
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
			all.Failed[gv] = errGroupDown
		case strings.HasPrefix(err.Error(), "received empty response"):
			// client-go has no error type for this (discovery/cached/memory). The group has no
			// resources, which is usual for metrics without definitions.
		default:
			all.Failed[gv] = err
		}
	}
	rank := map[string]int{}
	for _, g := range groups {
		if len(g.Versions) == 0 && !all.fails(g.Name) {
			// client-go's cache returns such a group if one of its versions is down, and loses
			// the failed version.
			all.Failed[schema.GroupVersion{Group: g.Name}] = errGroupDown
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

// Schemas returns the OpenAPI v3 document of a group and version, as JSON; nil if the server
// publishes none.
func (d *Discovery) Schemas(ctx context.Context, gv schema.GroupVersion) ([]byte, error) {
	document, err := d.schemasOf(ctx, gv)
	if !isMoved(err) {
		return document, err
	}
	// The address of a schema has its hash, and API servers redirect from an old hash to the new one. Redirects
	// are not followed, but without a hash the server answers with what it has (kube-openapi:
	// pkg/handler3/handler.go). While definitions are installed, hashes change several times a second.
	d.mu.Lock()
	d.schemas = nil
	d.mu.Unlock()
	document, err = d.client.RESTClient().Get().AbsPath("openapi", "v3", schemaPath(gv)).
		SetHeader("Accept", runtime.ContentTypeJSON).Do(cache.Quiet(ctx)).Raw()
	return document, inSchemas(gv, err)
}

// schemaPath returns the path of a group and version below /openapi/v3.
func schemaPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// inSchemas says which schemas could not be read.
func inSchemas(gv schema.GroupVersion, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read the OpenAPI schemas of %s: %w", gv, err)
}

func isMoved(err error) bool {
	moved := (*wire.RedirectError)(nil)
	return errors.As(err, &moved)
}

func (d *Discovery) schemasOf(ctx context.Context, gv schema.GroupVersion) ([]byte, error) {
	published, err := d.published(ctx)
	if err != nil {
		return nil, fmt.Errorf("read its OpenAPI schemas: %w", err)
	}
	one, ok := published[schemaPath(gv)]
	if !ok {
		return nil, nil
	}
	document, err := one.SchemaWithContext(cache.Quiet(ctx), runtime.ContentTypeJSON)
	return document, inSchemas(gv, err)
}

// published returns the addresses of all schemas. Servers before Kubernetes 1.24 publish none.
func (d *Discovery) published(ctx context.Context) (map[string]openapi.GroupVersionWithContext, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.schemas != nil {
		return d.schemas, nil
	}
	// The cached client would remember an error for ever.
	schemas, err := openapi.NewClientWithContext(d.client.RESTClient()).PathsWithContext(cache.Quiet(ctx))
	if apierrors.IsNotFound(err) {
		schemas, err = map[string]openapi.GroupVersionWithContext{}, nil
	}
	if err != nil {
		return nil, err
	}
	d.schemas = schemas
	return schemas, nil
}

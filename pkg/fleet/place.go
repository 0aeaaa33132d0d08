package fleet

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// endpoint returns the address of a context according to its settings: server, server name and
// certificate authority, and the proxy if no authority is named. It returns "" for settings
// without a server. It does not identify a cluster: a proxy such as Teleport has one endpoint for
// all of its clusters, and selects by credentials.
func endpoint(config *rest.Config, authority string) string {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil || config.Host == "" {
		return ""
	}
	parts := []string{kubecontext.NormalServer(server.String()), strings.ToLower(config.ServerName), authority}
	if authority == "" {
		parts = append(parts, proxyOf(config, server))
	}
	return strings.Join(parts, "\n")
}

// Endpoint returns the address of a context according to its settings; "" if they name none.
// Contexts with one endpoint may reach several clusters.
func (c Context) Endpoint() string {
	if c.Err != nil || c.Config == nil {
		return ""
	}
	return endpoint(c.Config, c.authority())
}

func proxyOf(config *rest.Config, server *url.URL) string {
	if config.Proxy == nil {
		return ""
	}
	proxy, err := config.Proxy(&http.Request{URL: server})
	if err != nil || proxy == nil {
		return ""
	}
	return proxy.Host
}

// isSame reports whether two contexts certainly reach one cluster: both serve the same UID,
// and one certificate authority vouches for both, or one address. Equal UIDs alone do not
// prove it: a cluster restored from another one's etcd snapshot serves the same.
func isSame(a, b *Cluster) bool {
	return a.Identity().Compare(b.Identity()) == delegation.CertainlySame && haveOneAuthority(a, b)
}

func haveOneAuthority(a, b *Cluster) bool {
	return a.CA != "" && a.CA == b.CA || a.endpoint != "" && a.endpoint == b.endpoint
}

// shareUIDs gives each cluster whose kube-system is not readable the UID that another context of
// the same cluster has read.
func shareUIDs(clusters []*Cluster) {
	for _, c := range clusters {
		if c.UID() != "" {
			continue
		}
		for _, other := range clusters {
			if other.UID() != "" && isSame(c, other) {
				c.SetUID(other.UID())
				break
			}
		}
	}
}

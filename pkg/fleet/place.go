package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// endpoint is where a context leads to, as far as its settings tell: the server, the
// name by which its certificate has to go, and who has to have signed that. Contexts
// with the same endpoint reach the same cluster. It is "" where there is no telling.
//
// Where no authority is named, a proxy may decide who answers by that address, and so
// it counts.
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

// Endpoint is where a context leads to, as far as its settings tell: contexts that have the
// same one reach the same cluster. It is "" where there is no telling.
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

// stamp is what can be told of an endpoint beyond this kubeconfig: a fingerprint by
// which it is known again, on another day and machine. It is "" where the server does
// not have to prove who it is: then another cluster may answer there tomorrow.
func stamp(config *rest.Config, authority string) string {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil || config.Host == "" || server.Scheme != "https" || config.Insecure {
		return ""
	}
	sum := sha256.Sum256([]byte(endpoint(config, authority)))
	return hex.EncodeToString(sum[:8])
}

// isSame says whether two contexts certainly reach one cluster. Two of which neither
// tells anything are not the same.
func isSame(a, b *Cluster) bool {
	if a.UID() != "" && b.UID() != "" {
		return a.UID() == b.UID()
	}
	return a.endpoint != "" && a.endpoint == b.endpoint || haveSeenTheSame(a, b)
}

// introduce has each cluster that may not read who it is know it from another one that
// has the same endpoint, or through which the same was seen. Where several answer by one
// endpoint, it stays unknown.
func introduce(clusters []*Cluster) {
	known := map[string]string{}
	const several = "several"
	for _, c := range clusters {
		switch uid, isKnown := known[c.endpoint]; {
		case c.UID() == "" || c.endpoint == "":
		case isKnown && uid != c.UID():
			known[c.endpoint] = several
		default:
			known[c.endpoint] = c.UID()
		}
	}
	for _, c := range clusters {
		if uid := known[c.endpoint]; c.UID() == "" && uid == several {
			c.endpoint = ""
		} else if c.UID() == "" {
			c.SetUID(uid)
		}
	}
	for _, c := range clusters {
		if i := slices.IndexFunc(clusters, func(other *Cluster) bool { return other.UID() != "" && haveSeenTheSame(c, other) }); c.UID() == "" && i >= 0 {
			c.SetUID(clusters[i].UID())
		}
	}
}

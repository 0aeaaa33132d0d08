package bundle

import (
	"net/url"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// addOthers records the addresses of contexts that are not recorded themselves. A user who omits
// a context does not want it in the snapshot. But if a MultiKueueCluster points to it, the
// snapshot already has its address, and needs its name to be the same fleet.
func (r *Recording) addOthers(known, workers []kubecontext.Address) {
	recorded := map[string]Context{}
	for _, c := range r.snapshot.Contexts {
		recorded[c.Name] = c
	}
	wanted := map[string]bool{}
	for _, w := range workers {
		w.Server = address(w.Server)
		wanted[contextFor(w, known)] = true
	}
	for _, k := range known {
		other := Address{Name: k.Context, Server: address(k.Server), CA: k.CA}
		c, isRecorded := recorded[k.Context]
		r.snapshot.Partial = r.snapshot.Partial || !isRecorded
		switch {
		case other.Server == "", isRecorded && c.Server == other.Server && c.CA == other.CA, !isRecorded && !wanted[k.Context]:
		case !slices.Contains(r.snapshot.Others, other):
			r.snapshot.Others = append(r.snapshot.Others, other)
		}
	}
}

// contextFor returns the first context with the address, otherwise with the certificate authority, of
// a worker.
func contextFor(worker kubecontext.Address, known []kubecontext.Address) string {
	byServer := func(k kubecontext.Address) bool { return kubecontext.SameServer(k.Server, worker.Server) }
	byAuthority := func(k kubecontext.Address) bool { return k.CA == worker.CA && k.CA != "" }
	for _, is := range []func(kubecontext.Address) bool{byServer, byAuthority} {
		if i := slices.IndexFunc(known, is); i >= 0 {
			return known[i].Context
		}
	}
	return ""
}

// address returns a server's URL without user and password.
func address(server string) string {
	if !strings.Contains(server, "@") {
		return server
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		// Without a scheme, remove everything before the @.
		return server[strings.LastIndex(server, "@")+1:]
	}
	u.User = nil
	return u.String()
}

package bundle

import (
	"net/url"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// addOthers records what is known of contexts that are not recorded themselves.
// Nobody who left a context out wants to find it in the bundle; but where a
// MultiKueueCluster leads there, the bundle has its address already, and only
// with its name it is the same fleet.
func (r *Recording) addOthers(known, workers []kubecontext.Address) {
	recorded := map[string]Context{}
	for _, c := range r.snapshot.Contexts {
		recorded[c.Name] = c
	}
	wanted := map[string]bool{}
	for _, w := range workers {
		w.Server = address(w.Server)
		wanted[leadsTo(w, known)] = true
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

// leadsTo is the first context with an address, or else with its certificate
// authority.
func leadsTo(worker kubecontext.Address, known []kubecontext.Address) string {
	byServer := func(k kubecontext.Address) bool { return kubecontext.SameServer(k.Server, worker.Server) }
	byAuthority := func(k kubecontext.Address) bool { return k.CA == worker.CA && k.CA != "" }
	for _, is := range []func(kubecontext.Address) bool{byServer, byAuthority} {
		if i := slices.IndexFunc(known, is); i >= 0 {
			return known[i].Context
		}
	}
	return ""
}

// address is a server's URL without the user and password that it may hold.
func address(server string) string {
	if !strings.Contains(server, "@") {
		return server
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		// Without a scheme: what stands in front of the @ goes.
		return server[strings.LastIndex(server, "@")+1:]
	}
	u.User = nil
	return u.String()
}

package fleet

import (
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// authority is the fingerprint of the certificate authority that a context
// trusts; "" where it names none, or names a file that cannot be read.
func (c Context) authority() string {
	if c.CA != "" || c.Config == nil {
		return c.CA
	}
	config := rest.CopyConfig(c.Config)
	if err := rest.LoadTLSFiles(config); err != nil {
		return ""
	}
	return kubecontext.Fingerprint(config.CAData)
}

// Address tells where the context's cluster is; the zero Address but for the
// name where the context is not usable.
func (c Context) Address() kubecontext.Address {
	a := kubecontext.Address{Context: c.Name}
	if c.Config != nil {
		a.Server, a.CA = c.Config.Host, c.authority()
	}
	return a
}

package plumbing

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// correctCertificate returns how to make a manager trust the certificate of a worker's API server.
// It depends on the message of crypto/x509, which the condition of the MultiKueueCluster quotes.
func correctCertificate(v *view.View, b brokenWorker) command.Prose {
	server := cmp.Or(v.ServerOf(b.manager, b.cluster.Name), "the API server of "+b.cluster.Name)
	has := func(part string) bool { return strings.Contains(b.active.Message, part) }
	write := func(text string) command.Prose {
		return advice.ReplaceKubeconfig(b.manager, b.cluster, fmt.Sprintf("%s in %s.kubeconfig", text, b.cluster.Name))
	}
	switch {
	case has("not yet valid") && has(" is before "):
		return command.Say("correct the clock of %s: the certificate of %s is not valid yet", b.manager.Context, server)
	case has("certificate has expired"):
		return command.Say("renew the certificate of %s; if it is valid, correct the clock of %s", server, b.manager.Context)
	case has("certificate is valid for "), has("certificate is not valid for "), has("IP SANs"), has("Common Name"):
		return write("write a server that the certificate names, or that name as tls-server-name,")
	case has("unknown authority"):
		return write(fmt.Sprintf("write the authority that signs %s's certificate to certificate-authority-data", b.cluster.Name))
	}
	return write("correct the server, its tls-server-name or certificate-authority-data")
}

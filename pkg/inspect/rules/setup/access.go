package setup

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// expiresSoon is how long before their expiry credentials are reported.
const expiresSoon = 14 * 24 * time.Hour

// renewedBefore is the part of a lifetime before whose end a controller has renewed credentials.
const renewedBefore = 10

func credentialsExpire() view.Rule {
	return view.Rule{
		Code: "JM405", Severity: inspect.Warning,
		Reads: []inspect.Part{inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets, inspect.PartCredentials},
		Detect: func(v *view.View) {
			for _, f := range v.Managers() {
				clusters, _ := v.MultiKueueClusters(f)
				for _, c := range clusters {
					if c.DeletionTimestamp == nil && !reportVoid(v, f, c) {
						reportExpiry(v, f, c)
					}
				}
			}
		},
	}
}

// reportVoid reports credentials that a worker rejects, although they have not expired. It
// returns whether there are such.
func reportVoid(v *view.View, f *inspect.Facts, c *kueue.MultiKueueCluster) bool {
	known, _ := v.Setup(f, inspect.PartCredentials)
	why, isVoid := known.Void[c.Name]
	if !isVoid {
		return false
	}
	object := view.OfKueue(f, "MultiKueueCluster", "", c.Name)
	s := view.Sighting{
		Object: object, Severity: inspect.Error,
		Message:  fmt.Sprintf("credentials for %s are invalid: %s there", c.Name, why),
		Evidence: []string{fmt.Sprintf("%s: the kubeconfig of %s holds a %s", f.Context, object.String(), known.Credentials[c.Name])},
		Remedy:   renewCredentials(f, c),
	}
	if context := v.ContextOf(f, c.Name); context != "" {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: %s", context, why))
	}
	v.Report(s)
	return true
}

// renewCredentials returns how to give a manager new credentials for a worker.
func renewCredentials(f *inspect.Facts, c *kueue.MultiKueueCluster) command.Prose {
	return advice.ReplaceKubeconfig(f, c, fmt.Sprintf("create new credentials for the manager on %s and write them to %s.kubeconfig", c.Name, c.Name))
}

func reportExpiry(v *view.View, f *inspect.Facts, c *kueue.MultiKueueCluster) {
	known, _ := v.Setup(f, inspect.PartCredentials)
	credential, ok := known.Credentials[c.Name]
	if !ok || credential.NotAfter == nil {
		return
	}
	rest := credential.NotAfter.Sub(v.Now())
	if rest > expiresSoon {
		return
	}
	object := view.OfKueue(f, "MultiKueueCluster", "", c.Name)
	s := view.Sighting{
		Object:   object,
		Message:  fmt.Sprintf("credentials for %s expire in %s (%s)", c.Name, duration.HumanDuration(rest), credential),
		Evidence: []string{fmt.Sprintf("%s: the kubeconfig of %s holds a %s, valid until %s", f.Context, object.String(), credential, quote.Time(*credential.NotAfter))},
		Remedy:   renewCredentials(f, c),
	}
	switch issued := credential.NotBefore; {
	case rest <= 0:
		s.Severity, s.Message = inspect.Error, fmt.Sprintf("credentials for %s expired %s ago (%s)", c.Name, duration.HumanDuration(-rest), credential)
	case issued != nil && rest > credential.NotAfter.Sub(*issued)/renewedBefore:
		// A controller may renew them in time. Nothing shows whether one does.
		s.Severity = inspect.Info
		s.Remedy = command.Say("if no controller renews them in time, %s", s.Remedy)
	}
	v.Report(s)
}

func managerDenied() view.Rule {
	return view.Rule{
		Code: "JM416", Severity: inspect.Error,
		Reads: view.ReadsOfLinks(inspect.PartAccess),
		Detect: func(v *view.View) {
			for _, l := range v.Links() {
				known, _ := v.Setup(l.Manager, inspect.PartAccess)
				if denied := known.Denied[l.Cluster.Name]; len(denied) > 0 {
					reportDenied(v, l, denied)
				}
			}
		},
	}
}

func reportDenied(v *view.View, l view.Link, denied []inspect.Access) {
	user := l.Manager.Setup.Credentials[l.Cluster.Name].User
	var texts, evidence []string
	for _, a := range denied {
		texts = append(texts, a.String())
		evidence = append(evidence, fmt.Sprintf("%s: %s may not %s", l.Worker.Context, user, a))
	}
	onWorker := func(words ...string) command.Command { return command.Kubectl(l.Worker.Context, "", words...) }
	remedy := advice.GrantRights(onWorker, user, denied)
	if why, isVoid := l.Manager.Setup.Void[l.Cluster.Name]; isVoid {
		// Rights for a user that the worker rejects have no effect.
		evidence = append([]string{fmt.Sprintf("%s: %s", l.Worker.Context, why)}, evidence...)
		remedy = command.Say("%s, and then run doctor again: it checks the rights of the new user", renewCredentials(l.Manager, l.Cluster))
	}
	v.Report(view.Sighting{
		Object:   l.Object(),
		Message:  fmt.Sprintf("user %s lacks rights on %s: %s", user, l.Name(), strings.Join(texts[:min(quote.MostNames, len(texts))], "; ")),
		Evidence: evidence[:min(quote.MostLines, len(evidence))], Remedy: remedy,
	})
}

package rules

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// expiresSoon is how long before their end credentials are reported.
const expiresSoon = 14 * 24 * time.Hour

func credentialsExpire() Rule {
	return Rule{
		Code: "JM405", Title: "the manager's credentials for a worker expire", Severity: inspect.Warning,
		Holds: "the manager's credentials for workers last for two weeks at least",
		Reads: []inspect.Part{inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartCredentials},
		Why: `The kubeconfig of a MultiKueueCluster holds a token or a client certificate. Once that has expired, the
worker rejects the manager: Jobs that run there keep running, no status comes back, and after workerLostTimeout the
manager gives them to another worker. Tokens that kubectl create token makes last for an hour unless told otherwise.`,
		Shows: `The token's claim exp, or the certificate's field notAfter, is less than two weeks ahead. Nothing but the
public facts of the credential is read: whom it stands for, and until when.`,
		Remedy: `Create new credentials on the worker and replace the content of the Secret. Kueue watches the Secret and
connects again. If something renews them in time, suppress the finding.`,
		Link: setupPage,
		Detect: func(v *View) {
			for _, f := range v.managers() {
				clusters, _ := v.MultiKueueClusters(f)
				for _, c := range clusters {
					reportExpiry(v, f, c)
				}
			}
		},
	}
}

func reportExpiry(v *View, f *inspect.Facts, c *kueue.MultiKueueCluster) {
	known, _ := v.Setup(f, inspect.PartCredentials)
	credential, ok := known.Credentials[c.Name]
	active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
	isReported := isFalse(active) && faultOf(active) == "JM003"
	if !ok || credential.NotAfter == nil || c.DeletionTimestamp != nil || isReported {
		return
	}
	rest := credential.NotAfter.Sub(v.Now())
	if rest > expiresSoon {
		return
	}
	object := OfKueue(f, "MultiKueueCluster", "", c.Name)
	s := Sighting{
		Object:   object,
		Message:  fmt.Sprintf("credentials for %s expire in %s (%s)", c.Name, duration.HumanDuration(rest), credential),
		Evidence: []string{fmt.Sprintf("%s: the kubeconfig of %s holds a %s, valid until %s", f.Context, named(object), credential, stamp(*credential.NotAfter))},
		Remedy: newKubeconfig(brokenWorker{f, c, active}, fmt.Sprintf("create new credentials for the manager on %s and write them to %s.kubeconfig",
			c.Name, c.Name)),
	}
	if rest <= 0 {
		s.Severity, s.Message = inspect.Error, fmt.Sprintf("credentials for %s expired %s ago (%s)", c.Name, duration.HumanDuration(-rest), credential)
	}
	v.Report(s)
}

func managerDenied() Rule {
	return Rule{
		Code: "JM416", Title: "the manager's user lacks rights on a worker", Severity: inspect.Error,
		Holds: "every worker grants the manager's user what MultiKueue needs",
		Reads: readsOfLinks(inspect.PartAccess),
		Why: `MultiKueue creates, watches and deletes mirrors and Workloads on a worker as the user of its kubeconfig.
What that user may not watch makes the whole worker unusable (JM006); what it may not create, delete or update shows only
once a Job needs it, and only in the log of the manager's Kueue.`,
		Shows: `A SubjectAccessReview on the worker, for the user and groups of the certificate or token, denies a right
that MultiKueue needs for the integrations that the manager enables. Where the configuration of Kueue could not be read,
only batch/job is checked. A webhook authorizer may know more groups of the user than the review names.`,
		Remedy: `Grant the rights to the user on the worker, in a ClusterRole and a ClusterRoleBinding.`,
		Link:   setupPage,
		Detect: func(v *View) {
			for _, l := range v.links() {
				known, _ := v.Setup(l.manager, inspect.PartAccess)
				if denied := known.Denied[l.cluster.Name]; len(denied) > 0 {
					reportDenied(v, l, denied)
				}
			}
		},
	}
}

func reportDenied(v *View, l link, denied []inspect.Access) {
	user := l.manager.Setup.Credentials[l.cluster.Name].User
	var texts, evidence []string
	var rules []any
	for _, a := range denied {
		texts = append(texts, a.String())
		evidence = append(evidence, fmt.Sprintf("%s: %s may not %s", l.worker.Context, user, a))
		rules = append(rules, map[string]any{"apiGroups": []any{a.Group}, "resources": []any{a.Resource}, "verbs": a.Verbs})
	}
	const role = "multikueue-manager-additional"
	create := command.Kubectl(l.worker.Context, "", "apply", "-f", "-").Fed(command.JSON(map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": role}, "rules": rules,
	}))
	bind := command.Kubectl(l.worker.Context, "", "create", "clusterrolebinding", role, "--clusterrole="+role, "--user="+user)
	v.Report(Sighting{
		Object:   l.object(),
		Message:  fmt.Sprintf("user %s lacks rights on %s: %s", user, l.name(), strings.Join(texts[:min(few, len(texts))], "; ")),
		Evidence: evidence[:min(enough, len(evidence))], Remedy: command.Say("%s, and then %s", create, bind),
	})
}

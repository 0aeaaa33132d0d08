package doctor

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// webhookPattern matches how an API server says that a webhook gave no answer.
var webhookPattern = regexp.MustCompile(`failed calling webhook "([^"]+)": (?:failed to call webhook: )?(.*)`)

// objection returns why an API server does not accept the Job of a probe, as a sentence, and the
// same in a few words for the step.
func objection(context string, err error) (sentence, short string) {
	text := strings.TrimSuffix(kubecontext.Objection(err), ".")
	m := webhookPattern.FindStringSubmatch(text)
	if m == nil {
		return fmt.Sprintf("%s rejects the Job: %s.", context, text), text
	}
	short = fmt.Sprintf("webhook %s failed", m[1])
	who, show := "Webhook "+m[1], command.Kubectl(context, "", "get", "validatingwebhookconfigurations,mutatingwebhookconfigurations")
	if isKueues(m[1]) {
		who, show = "Kueue", kueue.ShowPods(context)
	}
	return fmt.Sprintf("%s on %s fails, so no Job can be created: %s. Check that it runs: %s", who, context, m[2], show.Shell()), short
}

// isKueues reports whether a webhook of Jobs is Kueue's (kueue: config/components/webhook/manifests.yaml).
func isKueues(webhook string) bool { return webhook == "mjob.kb.io" || webhook == "vjob.kb.io" }

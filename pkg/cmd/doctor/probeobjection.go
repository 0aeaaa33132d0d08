package doctor

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// objection returns why an API server does not accept the Job of a probe, as a sentence, and the
// same in a few words for the step.
func objection(context string, err error) (sentence, short string) {
	text := strings.TrimSuffix(kubecontext.Objection(err), ".")
	webhook, cause := kubecontext.FailedWebhook(err)
	switch {
	case webhook != "":
	case kubecontext.IsRejection(err):
		return fmt.Sprintf("%s rejects the Job: %s.", context, text), text
	default:
		return fmt.Sprintf("No Job can be created on %s now: %s.", context, text), text
	}
	who, show := kueue.ShowWebhook(context, webhook)
	return fmt.Sprintf("%s on %s fails, so no Job can be created: %s. Check that it runs: %s", strings.ToUpper(who[:1])+who[1:], context, cause, show.Shell()), fmt.Sprintf("webhook %s failed", webhook)
}

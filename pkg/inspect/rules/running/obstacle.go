package running

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// sighting describes the obstacle of the Pods of a mirror, and how to remove it. origin is nil if it is
// unknown.
func (b *obstacle) sighting(v *view.View, origin, mirror *inspect.Job) view.Sighting {
	kind, name := missingIn(b.message)
	about := cmp.Or(origin, mirror)
	namespace := mirror.Namespace
	if b.isOfCluster(kind) {
		namespace = ""
	}
	s := view.Sighting{
		Object: view.Of(about), Since: v.On(about.Context, mirror.Context, b.since), Jobs: []*inspect.Job{about},
		Cause: strings.Join([]string{"pods", mirror.Context, namespace, kind, cmp.Or(name, b.reason+" "+withoutPod(b.message))}, "/"),
	}
	if b.pod == "" {
		b.describeRefusal(&s, origin, mirror)
	} else {
		b.describePods(v, &s, origin, mirror)
	}
	switch {
	case kind == "":
	case kind == "serviceaccount":
		// The refusal has the fix.
	case isWithoutNamespace(kind):
		s.Remedy = createMissing(command.Say("create %s %s on %s", kindNames()[kind], name, mirror.Context), origin, false, kind, name)
	default:
		s.Remedy = createMissing(command.Say("create %s %s in namespace %s of %s", kindNames()[kind], name, mirror.Namespace, mirror.Context), origin, true, kind, name)
	}
	s.Evidence = append(s.Evidence, quotePodCounts(about))
	if b.mild {
		s.Severity = inspect.Warning
	}
	return s
}

// isOfCluster reports whether an obstacle is the same in all namespaces of a cluster: an object without a namespace is
// missing, of which kind is the kind, or no node takes the Pods.
func (b *obstacle) isOfCluster(kind string) bool {
	return isWithoutNamespace(kind) || b.needsNode() && !isAboutVolumes(b.message)
}

// isWithoutNamespace reports whether objects of a kind that Pods name have no namespace.
func isWithoutNamespace(kind string) bool { return kind == "priorityclass" || kind == "runtimeclass" }

// createMissing adds to the fix that creates an object that Pods need where its model may be: on the
// cluster of the origin, if that is known.
func createMissing(create command.Prose, origin *inspect.Job, isNamespaced bool, kind, name string) command.Prose {
	if origin == nil {
		return create
	}
	namespace := ""
	if isNamespaced {
		namespace = origin.Namespace
	}
	return command.Say("%s, like the one on %s, if it exists there: %s", create, origin.Context, command.Kubectl(origin.Context, namespace, "get", kind, name, "-o", "yaml"))
}

// cause returns the reason of the obstacle with its message.
func (b *obstacle) cause() string { return strings.TrimSuffix(b.reason+": "+b.message, ": ") }

// describeRefusal describes that Pods of a mirror cannot be created.
func (b *obstacle) describeRefusal(s *view.Sighting, origin, mirror *inspect.Job) {
	s.Message = fmt.Sprintf("its mirror on %s cannot create Pods: %s", mirror.Context, b.message)
	if origin == nil {
		s.Message = fmt.Sprintf("no Pods can be created on %s: %s", mirror.Context, b.message)
	}
	s.Evidence = []string{
		fmt.Sprintf("%s: %s has had no Pods since %s; its last warning is %s", mirror.Context, view.Of(mirror).String(), quote.Time(b.since), b.cause()),
	}
	s.Remedy = b.allowPods(origin, mirror)
	if b.shortage != nil {
		missing := fmt.Sprintf("%d of %d Pods", b.shortage.Missing, b.shortage.Wanted)
		s.Message = fmt.Sprintf("%s%s on %s cannot be created: %s", missing, ofMirror(origin), mirror.Context, b.shortage.Why())
		s.Evidence = []string{
			fmt.Sprintf("%s: %s of %s have been missing since %s; its last warning is %s", mirror.Context, missing, view.Of(mirror).String(), quote.Time(b.since), b.cause()),
		}
	}
}

// allowPods returns the fix of Pods that cannot be created. If the API server refuses them, dispatch has the
// same fix.
func (b *obstacle) allowPods(origin, mirror *inspect.Job) command.Prose {
	fix, isRefused := advice.AcceptPods(origin, mirror, b.message)
	webhook, _ := kubecontext.FailedWebhook(errors.New(b.message))
	switch {
	case view.IsName(webhook):
		who, show := kueue.ShowWebhook(mirror.Context, webhook)
		return command.Say("check that %s runs: %s", who, show)
	case isRefused && !strings.HasPrefix(b.reason, "FailedWorkload"):
		return fix
	}
	return command.Say("check what rejects them: %s", advice.KubectlJob(mirror, "describe"))
}

// ofMirror says that Pods belong to the mirror of an origin, "" if the finding is about the mirror itself.
func ofMirror(origin *inspect.Job) string {
	if origin == nil {
		return ""
	}
	return " of its mirror"
}

// describePods describes that Pods of a mirror exist, and do not start.
func (b *obstacle) describePods(v *view.View, s *view.Sighting, origin, mirror *inspect.Job) {
	pods := inspect.Count(b.count, "Pod") + ofMirror(origin)
	describe := command.Kubectl(mirror.Context, mirror.Namespace, "describe", "pod", b.pod)
	s.Evidence = []string{
		fmt.Sprintf("%s: Pod %s/%s has waited since %s, %s", mirror.Context, mirror.Namespace, b.pod, quote.Time(b.since), b.cause()),
	}
	s.Message = fmt.Sprintf("%s on %s cannot start: %s", pods, mirror.Context, b.cause())
	s.Remedy = command.Say("check what is missing: %s, and provide it on %s", describe, mirror.Context)
	switch {
	case b.reason == inspect.NodeGone:
		s.Message = fmt.Sprintf("%s on %s lost: %s", pods, mirror.Context, b.message)
		s.Evidence = []string{fmt.Sprintf("%s: Pod %s/%s exists, but its %s", mirror.Context, mirror.Namespace, b.pod, b.message)}
		s.Remedy = command.Say("check that kube-controller-manager runs on %s: it deletes Pods whose node is gone, and creates others: %s", mirror.Context,
			advice.ShowControllerLease(mirror.Context))
	case b.unconfirmed != nil:
		b.describeUnconfirmed(s, origin, mirror)
	case len(b.gates) > 0:
		b.describeGates(v, s, origin, mirror)
	case b.needsNode():
		b.describeNoNode(v, s, origin, mirror)
	case b.isUnbound:
		s.Message = fmt.Sprintf("%s on %s cannot start: %s", pods, mirror.Context, b.message)
		s.Remedy = command.Say("find out why it is not bound: %s", describeClaims(mirror, b.claims...))
	case claimIn(b.message) != "":
		s.Remedy = command.Say("check its PersistentVolumeClaim: %s", describeClaims(mirror, claimIn(b.message)))
	case b.needsTime():
		b.describeSlow(s, origin, mirror, describe)
	case isOfImage(b.reason):
		// Each Job must be created again.
		s.Cause += "/" + mirror.UID
		s.Remedy = b.changeImage(origin, s.Remedy)
	}
}

// describeSlow describes that the nodes of Pods have not created their containers.
func (b *obstacle) describeSlow(s *view.Sighting, origin, mirror *inspect.Job, describe command.Command) {
	pods := inspect.Count(b.count, "Pod") + ofMirror(origin)
	s.GracePeriod = noNode
	s.Remedy = command.Say("check what their node waits for, such as an image or a volume: %s", describe)
	switch {
	case b.isWarned:
		s.Message = fmt.Sprintf("%s on %s not started: %s", pods, mirror.Context, b.cause())
		s.Remedy = command.Say("check what their node waits for: %s", describe)
	case b.hasEvents:
		s.Message = fmt.Sprintf("%s on %s not started, without a stated reason: %s", pods, mirror.Context, b.cause())
	default:
		s.Message = fmt.Sprintf("%s on %s not started: %s", pods, mirror.Context, b.cause())
		s.Remedy = command.Say("see its events, which could not be read: %s", describe)
	}
}

// isOfImage reports whether a container waits for its image.
func isOfImage(reason string) bool {
	switch reason {
	case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError":
		return true
	}
	return false
}

// missingImage matches what a registry says about an image that does not exist.
var missingImage = regexp.MustCompile(`(?i)not ?found|manifest unknown`)

// deniedImage matches what a registry says about an image that the user may not read.
var deniedImage = regexp.MustCompile(`(?i)denied|authoriz|authenticat`)

// changeTemplate returns how the Pods of an origin, nil if unknown, get another template, which is immutable. change
// says what to change.
func changeTemplate(origin *inspect.Job, change string) command.Prose {
	if origin == nil {
		change += " in its origin"
	}
	return command.Say("%s, %s", change, advice.ThenCreateAgain(origin))
}

// changeTemplates is changeTemplate for several Jobs. A Job that is a mirror has an unknown origin.
func changeTemplates(jobs []*inspect.Job, change string) command.Prose {
	templates, isManual := make([]string, len(jobs)), false
	for i, j := range jobs {
		if j.IsMirror() {
			return command.Say("%s in their origins, and create these again", change)
		}
		templates[i], _ = j.Template()
		isManual = isManual || templates[i] == ""
	}
	if isManual {
		change += " in all manifests"
	}
	f := command.Fix{Text: change}.Again(view.Of(jobs[0]).String(), templates[0])
	return f.AgainForAll("the "+inspect.Count(len(jobs), "Job"), templates...).Prose()
}

// changeImage returns how the Pods of an origin, nil if unknown, get an image that exists. otherwise is what may help
// if the image exists.
func (b *obstacle) changeImage(origin *inspect.Job, otherwise command.Prose) command.Prose {
	change := changeTemplate(origin, "correct the image")
	isMissing := b.reason == "InvalidImageName" || missingImage.MatchString(b.message)
	if isMissing && !deniedImage.MatchString(b.message) {
		return change
	}
	return command.Say("%s; or %s", otherwise, change)
}

// describeClaims returns the command that describes PersistentVolumeClaims of a mirror.
func describeClaims(mirror *inspect.Job, names ...string) command.Command {
	return command.Kubectl(mirror.Context, mirror.Namespace, append([]string{"describe", "pvc"}, names...)...)
}

// kindNames returns the kinds that missingIn finds, as their API spells them.
func kindNames() map[string]string {
	return map[string]string{
		"serviceaccount": "ServiceAccount", "secret": "Secret", "configmap": "ConfigMap", "persistentvolumeclaim": "PersistentVolumeClaim",
		"runtimeclass": "RuntimeClass", "priorityclass": "PriorityClass",
	}
}

// missingObject matches an object that a Pod needs and that does not exist.
var missingObject = regexp.MustCompile(`(?i)\b(serviceaccount|secret|configmap|persistentvolumeclaim|runtimeclass) "([^"]+)" not found`)

// missingPriority matches a PriorityClass that does not exist.
var missingPriority = regexp.MustCompile(`\bno (PriorityClass) with name (\S+) was found`)

// missingIn returns the object that a message reports as missing, "" if there
// is none. Anyone can write the message, in an Event, or the name, in a Pod
// template, so names that are invalid are ignored.
func missingIn(message string) (kind, name string) {
	found := missingObject.FindStringSubmatch(message)
	if found == nil {
		// kubernetes: plugin/pkg/admission/priority.
		found = missingPriority.FindStringSubmatch(message)
	}
	if len(found) == 0 || !view.IsName(found[2]) {
		return "", ""
	}
	return strings.ToLower(found[1]), found[2]
}

// unusableClaim matches the PersistentVolumeClaim with which no node helps, in a message of the scheduler.
var unusableClaim = regexp.MustCompile(`^0/\d+ nodes are available: persistentvolumeclaim "([^"]+)"`)

// claimIn returns the PersistentVolumeClaim of which the scheduler says that no node helps, "" if it
// names none: the claim is being deleted, or is bound to a volume that does not exist.
func claimIn(message string) string {
	found := unusableClaim.FindStringSubmatch(message)
	if len(found) == 0 || !view.IsName(found[1]) {
		return ""
	}
	return found[1]
}

// podName matches the name of a Pod in a message.
var podName = regexp.MustCompile(`pods? "[^"]*" `)

// withoutPod returns a message without the name of its Pod, so that messages
// with one cause are equal.
func withoutPod(message string) string {
	return podName.ReplaceAllString(message, "")
}

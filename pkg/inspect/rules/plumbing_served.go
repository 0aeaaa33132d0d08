package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// isServed says whether a controller has ever written the status of an AdmissionCheck,
// which is the first that one does.
func isServed(c *kueue.AdmissionCheck) bool {
	return meta.FindStatusCondition(c.Status.Conditions, kueue.Active) != nil
}

// reportUnserved reports the AdmissionChecks of a manager whose status nobody has ever
// written.
func reportUnserved(v *View, f *inspect.Facts, checks []*kueue.AdmissionCheck) {
	for _, c := range checks {
		if isServed(c) || c.DeletionTimestamp != nil {
			continue
		}
		a := inspect.Actor{Role: inspect.RoleCheck, Context: f.Context, Name: c.Spec.ControllerName}
		t := v.turnOf(a, inspect.DutyServe, c.Name, c.CreationTimestamp.Time)
		o := OfKueue(f, "AdmissionCheck", "", c.Name)
		s := Sighting{
			Object: o, Since: c.CreationTimestamp.Time, Jobs: v.undispatched(f, names(c)),
			Message: fmt.Sprintf("no controller serves AdmissionCheck %s: nobody that goes by %s has ever written its status", c.Name, c.Spec.ControllerName),
			Evidence: []string{
				fmt.Sprintf("%s: spec.controllerName of %s is %s, and its status was never written", f.Context, named(o), c.Spec.ControllerName),
				t.evidence(),
			},
			Remedy: command.Say("start the controller %s, or name another one in a new AdmissionCheck: controllerName cannot be changed: %s",
				c.Spec.ControllerName, command.Kubectl(f.Context, "", "get", "admissionchecks.kueue.x-k8s.io", c.Name, "-o", "yaml")),
		}
		if isMeantForMultiKueue(c) {
			s.Remedy = command.Say("MultiKueue's is called %s, and controllerName cannot be changed: create another AdmissionCheck with it, and name that in the ClusterQueue: %s",
				kueue.ControllerName, command.Kubectl(f.Context, "", "get", "admissionchecks.kueue.x-k8s.io", c.Name, "-o", "yaml"))
		}
		if c.IsMultiKueue() {
			s.Remedy = command.Say("see whether Kueue runs, with the feature gate MultiKueue on: %s", podsOfKueue(f.Context))
		}
		queues, _ := v.ClusterQueues(f)
		for _, q := range queues {
			if active := meta.FindStatusCondition(q.Status.Conditions, kueue.Active); active != nil && slices.Contains(q.Checks(), c.Name) {
				s.Evidence = append(s.Evidence, conditionText(OfKueue(f, "ClusterQueue", "", q.Name), active))
			}
		}
		if !slices.ContainsFunc(queues, names(c)) || t.isAtWork() {
			s.Severity = inspect.Warning
		}
		v.Report(s)
	}
}

// isMeantForMultiKueue says whether an AdmissionCheck of another controller names what
// only MultiKueue knows.
func isMeantForMultiKueue(c *kueue.AdmissionCheck) bool {
	p := c.Spec.Parameters
	return !c.IsMultiKueue() && p != nil && p.APIGroup == kueue.Group && strings.EqualFold(p.Kind, "MultiKueueConfig")
}

package plumbing

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// reportUnserved reports the AdmissionChecks of a manager whose status was
// never written.
func reportUnserved(v *view.View, f *inspect.Facts, checks []*kueue.AdmissionCheck) {
	for _, c := range slices.DeleteFunc(slices.Clone(checks), func(c *kueue.AdmissionCheck) bool { return c.IsServed() || isForWorkers(v, f, c) }) {
		if c.DeletionTimestamp != nil {
			continue
		}
		a := v.Awaits(liveness.PendingAction{
			Actor: liveness.Actor{Role: liveness.RoleCheck, Context: f.Context, Name: c.Spec.ControllerName}, Duty: liveness.DutyServe, Subject: c.Name,
		}, f.Context, c.CreationTimestamp.Time)
		o := view.OfKueue(f, "AdmissionCheck", "", c.Name)
		queues, _ := v.ClusterQueues(f)
		s := view.Sighting{
			Object: o, Since: c.CreationTimestamp.Time, Jobs: undispatched(v, f, c),
			Message: fmt.Sprintf("no controller serves AdmissionCheck %s: no sign of %s", c.Name, c.Spec.ControllerName),
			Evidence: []string{
				fmt.Sprintf("%s: spec.controllerName of %s is %s, and its status was never written", f.Context, o.String(), c.Spec.ControllerName),
				quote.LastAction(a),
			},
			Remedy: serve(f, c, checks, queues),
		}
		if meant := meantController(c); meant != "" {
			s.Message = fmt.Sprintf("AdmissionCheck %s has controllerName %s; did you mean %s?", c.Name, c.Spec.ControllerName, meant)
		}
		for _, q := range queues {
			if active := meta.FindStatusCondition(q.Status.Conditions, kueue.Active); active != nil && slices.Contains(q.Checks(), c.Name) {
				s.Evidence = append(s.Evidence, quote.Condition(view.OfKueue(f, "ClusterQueue", "", q.Name), active))
			}
		}
		switch {
		case isYoung(v, f, c.CreationTimestamp) && meantController(c) == "":
			s.Severity = inspect.Info
			s.Message = fmt.Sprintf("%s has not written the status of AdmissionCheck %s yet, which is %s old", c.Spec.ControllerName, c.Name, ageOf(v, f, c.CreationTimestamp))
			s.Remedy = command.Say("wait a minute; if it remains, %s", s.Remedy)
		case !slices.ContainsFunc(queues, names(c)), a.IsAtWork():
			s.Severity = inspect.Warning
		}
		v.Report(s)
	}
}

// meantController returns the controller of Kueue that a mistyped controllerName probably means, ""
// if none looks like it.
func meantController(c *kueue.AdmissionCheck) string {
	known := []string{kueue.ControllerName, kueue.ProvisioningController}
	if slices.Contains(known, c.Spec.ControllerName) {
		return ""
	}
	return delegation.NearestName(c.Spec.ControllerName, known)
}

// serve returns how an AdmissionCheck, or another one in its place, gets a controller. checks and
// queues are those of its manager.
func serve(f *inspect.Facts, c *kueue.AdmissionCheck, checks []*kueue.AdmissionCheck, queues []*kueue.ClusterQueue) command.Prose {
	show := advice.KubectlObject(view.OfKueue(f, "AdmissionCheck", "", c.Name), "get").With("-o", "yaml")
	users := usersOf(c, queues)
	controller := meantController(c)
	if c.IsMeantForMultiKueue() {
		controller = kueue.ControllerName
	}
	switch {
	case c.IsMultiKueue():
		return command.Say("check that Kueue runs, with the feature gate MultiKueue on: %s", kueue.ShowPods(f.Context))
	case controller == "":
		return command.Say("start controller %s, or create an AdmissionCheck with another controllerName, which is immutable: %s", c.Spec.ControllerName, show)
	case len(users) == 0:
		return command.Say("create an AdmissionCheck with controllerName %s, which is immutable, and name it in the ClusterQueue: %s", controller, show)
	}
	edit, where := command.Kubectl(f.Context, "", "edit", kueue.Resource("ClusterQueue")).With(users...), "ClusterQueue "+users[0]
	if len(users) > 1 {
		where = "ClusterQueues " + strings.Join(users, ", ")
	}
	if right := servedByMultiKueue(checks); right != "" && controller == kueue.ControllerName {
		return command.Say("name AdmissionCheck %s, which MultiKueue serves, in %s instead of %s: %s", right, where, c.Name, edit)
	}
	name := c.Name + "-2"
	for n := 3; slices.ContainsFunc(checks, func(c *kueue.AdmissionCheck) bool { return c.Name == name }); n++ {
		name = fmt.Sprintf("%s-%d", c.Name, n)
	}
	spec := map[string]any{"controllerName": controller}
	if c.Spec.Parameters != nil {
		spec["parameters"] = c.Spec.Parameters
	}
	created := command.JSON(map[string]any{
		"apiVersion": kueue.Group + "/" + f.Kueue.Version, "kind": "AdmissionCheck", "metadata": map[string]any{"name": name}, "spec": spec,
	})
	return command.Say("create AdmissionCheck %s with controllerName %s (that of %s is immutable): %s, and then name it in %s instead of %s: %s",
		name, controller, c.Name, command.Kubectl(f.Context, "", "create", "-f", "-").Fed(created), where, c.Name, edit)
}

// usersOf returns the names of the ClusterQueues that name an AdmissionCheck.
func usersOf(c *kueue.AdmissionCheck, queues []*kueue.ClusterQueue) []string {
	var users []string
	for _, q := range queues {
		if names(c)(q) {
			users = append(users, q.Name)
		}
	}
	return users
}

// servedByMultiKueue returns the first AdmissionCheck that MultiKueue serves, "" for none.
func servedByMultiKueue(checks []*kueue.AdmissionCheck) string {
	i := slices.IndexFunc(checks, func(c *kueue.AdmissionCheck) bool {
		return c.IsMultiKueue() && c.DeletionTimestamp == nil && meta.IsStatusConditionTrue(c.Status.Conditions, kueue.Active)
	})
	if i < 0 {
		return ""
	}
	return checks[i].Name
}

// reportUnservedClusters reports the MultiKueueClusters of a manager whose
// status was never written: no controller connects to them.
func reportUnservedClusters(v *view.View, f *inspect.Facts) {
	clusters, _ := v.MultiKueueClusters(f)
	for _, c := range clusters {
		if c.DeletionTimestamp != nil || meta.FindStatusCondition(c.Status.Conditions, kueue.Active) != nil {
			continue
		}
		o := view.OfKueue(f, "MultiKueueCluster", "", c.Name)
		awaited := v.Awaits(liveness.PendingAction{
			Actor: liveness.Actor{Role: liveness.RoleKueue, Context: f.Context}, Duty: liveness.DutyServe, Subject: c.Name,
		}, f.Context, c.CreationTimestamp.Time)
		s := view.Sighting{
			Object: o, Since: c.CreationTimestamp.Time, Jobs: jobsDependingOn(v, f, c.Name), Awaits: awaited,
			Message:  fmt.Sprintf("no controller connects to MultiKueueCluster %s: its status was never written", c.Name),
			Evidence: []string{fmt.Sprintf("%s: %s, created %s, has no condition Active", f.Context, o.String(), quote.Time(c.CreationTimestamp))},
			Remedy:   command.Say("check that Kueue runs, with the feature gate MultiKueue on: %s", kueue.ShowPods(f.Context)),
		}
		if isYoung(v, f, c.CreationTimestamp) {
			// A busy Kueue is no other problem.
			s.Severity, s.Awaits, s.MayPass = inspect.Info, nil, true
			s.Message = fmt.Sprintf("Kueue still connects to MultiKueueCluster %s, which is %s old", c.Name, ageOf(v, f, c.CreationTimestamp))
			s.Remedy = command.Say("wait a minute; if it remains, %s", s.Remedy)
		}
		v.Report(s)
	}
}

// reportMissing reports references to missing objects in a chain whose status
// still says that all is well. No controller has noticed yet. Once one does,
// it takes back the Jobs that are under way.
func reportMissing(v *view.View, f *inspect.Facts, checks []*kueue.AdmissionCheck) {
	isWell := func(conditions []metav1.Condition) bool { return meta.IsStatusConditionTrue(conditions, kueue.Active) }
	for _, c := range checks {
		config, ok := v.ConfigOf(f, c)
		if !c.IsMultiKueue() || !ok || config != nil || c.DeletionTimestamp != nil || !isWell(c.Status.Conditions) {
			continue
		}
		o := view.OfKueue(f, "AdmissionCheck", "", c.Name)
		name := ""
		if c.Spec.Parameters != nil {
			name = c.Spec.Parameters.Name
		}
		s := view.Sighting{
			Object: o, Jobs: undispatched(v, f, c),
			Message:  fmt.Sprintf("AdmissionCheck %s names MultiKueueConfig %q, which does not exist", c.Name, name),
			Evidence: []string{fmt.Sprintf("%s: spec.parameters.name of %s is %q; there is no such MultiKueueConfig", f.Context, o.String(), name)},
		}
		adviseParameters(v, f, c, &s)
		v.Report(s)
	}
	queues, _ := v.ClusterQueues(f)
	for _, q := range queues {
		missing, _ := brokenChecks(v, f, q)
		if len(missing) == 0 || q.DeletionTimestamp != nil || !isWell(q.Status.Conditions) {
			continue
		}
		s := view.Sighting{Object: view.OfKueue(f, "ClusterQueue", "", q.Name), Jobs: heldIn(v, f, q)}
		s.Message, s.Remedy = namesMissing(s.Object, missing)
		s.Evidence = []string{fmt.Sprintf("%s: %s names AdmissionCheck %s, which does not exist", f.Context, s.Object.String(), inspect.And(missing))}
		v.Report(s)
	}
}

// isForWorkers reports whether a check must leave its ClusterQueue, because a MultiKueue check is there
// too. Its controller would not help.
func isForWorkers(v *view.View, f *inspect.Facts, c *kueue.AdmissionCheck) bool {
	queues, _ := v.ClusterQueues(f)
	return c.Spec.ControllerName == kueue.ProvisioningController && slices.ContainsFunc(queues, func(q *kueue.ClusterQueue) bool {
		return names(c)(q) && withProvisioning().is(meta.FindStatusCondition(q.Status.Conditions, kueue.Active))
	})
}

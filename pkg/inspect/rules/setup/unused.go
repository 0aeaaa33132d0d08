package setup

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func clusterUnused() view.Rule {
	return view.Rule{
		Code: "JM419", Severity: inspect.Warning,
		Reads: view.ReadsOfLinks(),
		Detect: func(v *view.View) {
			for _, f := range v.Managers() {
				clusters, _ := v.MultiKueueClusters(f)
				for _, c := range clusters {
					reportUnused(v, f, c)
				}
			}
		},
	}
}

// reportUnused reports a MultiKueueCluster that no MultiKueueConfig names, unless its cluster is also
// a worker under another name.
func reportUnused(v *view.View, f *inspect.Facts, c *kueue.MultiKueueCluster) {
	configs, ok := v.Configs(f)
	if !ok || len(configs) == 0 || c.DeletionTimestamp != nil || len(view.ConfigsNaming(configs, c.Name)) > 0 {
		return
	}
	context := v.ContextOf(f, c.Name)
	var names []string
	for _, config := range configs {
		names = append(names, config.Name)
		for _, other := range config.Spec.Clusters {
			if v.SameClusterEvidence(f, c.Name, other) != "" {
				return
			}
		}
	}
	object, name := view.OfKueue(f, "MultiKueueCluster", "", c.Name), c.Name
	if context != "" && context != name {
		name += " (context " + context + ")"
	}
	v.Report(view.Sighting{
		Object:   object,
		Message:  fmt.Sprintf("MultiKueueCluster %s is in no MultiKueueConfig, so it gets no new Jobs", name),
		Evidence: []string{fmt.Sprintf("%s: spec.clusters of MultiKueueConfig %s lacks %s", f.Context, strings.Join(names, ", "), c.Name)},
		Remedy: command.Say("add it to spec.clusters: %s; or if it should not be a worker, delete the mirrors there that run twice (JM055 in \"check -A\"), let the others finish, and then %s",
			advice.KubectlObject(view.OfKueue(f, "MultiKueueConfig", "", names[0]), "edit"), advice.KubectlObject(object, "delete")),
	})
}

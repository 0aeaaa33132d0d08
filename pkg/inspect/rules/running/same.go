package running

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func sameClusterTwice() view.Rule {
	return view.Rule{
		Code: "JM126", Severity: inspect.Error, Setup: true,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Covers: []string{"JM022", "JM045", "JM048", "JM114", "JM127", "JM129", "JM130", "JM131"},
		Detect: func(v *view.View) {
			for _, f := range v.Clusters() {
				reportSameCluster(v, f)
			}
		},
	}
}

func reportSameCluster(v *view.View, f *inspect.Facts) {
	configs, _ := v.Configs(f)
	for _, config := range configs {
		for _, group := range sameAmong(v, f, config.Spec.Clusters) {
			v.Report(describeSameCluster(v, f, config, group))
		}
	}
	var all []string
	for _, config := range configs {
		for _, name := range config.Spec.Clusters {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	for _, group := range sameAmong(v, f, all) {
		if isWithinOne(configs, group) {
			continue
		}
		v.Report(view.Sighting{
			Object: view.OfKueue(f, "MultiKueueCluster", "", group[1]), Severity: inspect.Warning,
			Message:  fmt.Sprintf("MultiKueueClusters %s are one cluster, which several MultiKueueConfigs name", inspect.And(group)),
			Evidence: sameClusterEvidence(v, f, group),
			Remedy: command.Say("name it in each of them as %s, so that its quota is not counted twice: %s", group[0],
				command.Kubectl(f.Context, "", "edit", "multikueueconfigs.kueue.x-k8s.io").With(view.ConfigsNaming(configs, group[1:]...)...)),
		})
	}
}

// isWithinOne reports whether one config names several clusters of a group.
func isWithinOne(configs []*kueue.MultiKueueConfig, group []string) bool {
	return slices.ContainsFunc(configs, func(c *kueue.MultiKueueConfig) bool {
		n := 0
		for _, name := range group {
			if slices.Contains(c.Spec.Clusters, name) {
				n++
			}
		}
		return n > 1
	})
}

// sameAmong returns the MultiKueueClusters that point to one cluster, in
// groups of two or more.
func sameAmong(v *view.View, f *inspect.Facts, names []string) [][]string {
	var groups [][]string
	for _, name := range names {
		i := slices.IndexFunc(groups, func(group []string) bool { return v.SameClusterEvidence(f, group[0], name) != "" })
		if i < 0 {
			groups = append(groups, []string{name})
			continue
		}
		if !slices.Contains(groups[i], name) {
			groups[i] = append(groups[i], name)
		}
	}
	return slices.DeleteFunc(groups, func(group []string) bool { return len(group) < 2 })
}

func sameClusterEvidence(v *view.View, f *inspect.Facts, group []string) []string {
	var evidence []string
	for _, name := range group[1:] {
		evidence = append(evidence, fmt.Sprintf("%s: MultiKueueClusters %s and %s: %s", f.Context, group[0], name, v.SameClusterEvidence(f, group[0], name)))
	}
	return evidence
}

func describeSameCluster(v *view.View, f *inspect.Facts, config *kueue.MultiKueueConfig, group []string) view.Sighting {
	s := view.Sighting{
		Object:   view.OfKueue(f, "MultiKueueConfig", "", config.Name),
		Message:  fmt.Sprintf("%s are one cluster under several names: Workloads there are stopped and restarted forever", inspect.And(group)),
		Evidence: append(sameClusterEvidence(v, f, group), fmt.Sprintf("%s: spec.clusters of MultiKueueConfig %s is %s", f.Context, config.Name, strings.Join(config.Spec.Clusters, ", "))),
	}
	wrong, evidence := movedCluster(v, f, group)
	s.Evidence = append(s.Evidence, evidence...)
	s.Remedy = command.Join(append(correctSecrets(v, f, group, wrong), command.Say("remove %s from spec.clusters: %s", removable(group, wrong),
		advice.KubectlObject(view.OfKueue(f, "MultiKueueConfig", "", config.Name), "edit"))), "; or ")
	for _, submission := range v.Submissions() {
		if submission.Manager != f || submission.Check == nil || !submission.IsLive() {
			continue
		}
		check, _ := v.Check(f, submission.Check.Name)
		if check == nil || check.Spec.Parameters == nil || check.Spec.Parameters.Name != config.Name {
			continue
		}
		s.Jobs = append(s.Jobs, submission.Job())
		if n := restartsOf(submission.Workload); n > 0 && len(s.Evidence) < quote.MostNames+2 {
			s.Evidence = append(s.Evidence, quote.MultiKueueCheck(submission))
		}
	}
	return s
}

// movedCluster returns the MultiKueueCluster of a group that once was another cluster, with the
// evidence: a Job was given to it, and the mirror is on a cluster that no MultiKueueCluster reaches
// now. It returns "" if there is no such evidence, or if it holds for several of them.
func movedCluster(v *view.View, f *inspect.Facts, group []string) (wrong string, evidence []string) {
	reached := map[string]bool{f.Context: true}
	for _, w := range v.Workers(f) {
		reached[v.ContextOf(f, w.Cluster)] = true
	}
	for _, s := range v.Submissions() {
		if s.Manager != f || s.Workload == nil || !slices.Contains(group, s.Chosen()) {
			continue
		}
		for _, m := range s.Pair.Mirrors {
			if reached[m.Job.Context] || !m.Is(inspect.ByMultiKueue) {
				continue
			}
			if wrong != "" && wrong != s.Chosen() {
				return "", nil
			}
			if wrong == "" {
				evidence = []string{
					quote.ChosenCluster(f.Context, s.Workload),
					fmt.Sprintf("%s: mirror %s exists, and no MultiKueueCluster reaches this cluster", m.Job.Context, view.Of(m.Job).String()),
				}
			}
			wrong = s.Chosen()
		}
	}
	return wrong, evidence
}

// correctSecrets returns how to correct the kubeconfig of the wrong one of some MultiKueueClusters.
// wrong is "" if it is unknown which one is wrong. There is nothing to correct if they share a Secret.
func correctSecrets(v *view.View, f *inspect.Facts, group []string, wrong string) []command.Prose {
	var fixes []command.Prose
	var secrets []string
	for _, name := range group {
		c, _ := v.MultiKueueCluster(f, name)
		if c == nil || c.SecretName() == "" || slices.Contains(secrets, c.SecretName()) {
			return nil
		}
		secrets = append(secrets, c.SecretName())
		if wrong != "" && name != wrong {
			continue
		}
		source := fmt.Sprintf("Secret %s/%s of %s", f.KueueHome().Namespace, c.SecretName(), name)
		replace := advice.ReplaceKubeconfig(f, c, fmt.Sprintf("write the kubeconfig of the right cluster to %s.kubeconfig", name))
		if wrong != "" {
			fixes = append(fixes, command.Say("correct %s, which reaches another cluster than before: %s", source, replace))
		} else {
			fixes = append(fixes, command.Say("if %s is wrong, correct it: %s", source, replace))
		}
	}
	return fixes
}

// removable says which MultiKueueClusters of a group may be removed so that one stays: wrong or, without it, the last
// ones.
func removable(group []string, wrong string) string {
	kept := group[0]
	if kept == wrong {
		kept = group[1]
	}
	others := slices.DeleteFunc(slices.Clone(group), func(name string) bool { return name == kept })
	text := inspect.And(others)
	switch {
	case wrong != "":
		return text
	case len(others) == 1:
		return fmt.Sprintf("%s (or %s, but not both)", text, kept)
	}
	return fmt.Sprintf("%s (or others, but not all %d)", text, len(group))
}

package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// misplaced is a mirror that runs where its management cluster did not put it.
type misplaced struct {
	made
	manager *dispatcher
	// workload is the management cluster's, check how MultiKueue's stands for it, nil
	// if it does not.
	workload *kueue.Workload
	check    *kueue.CheckState
	// chosen is the MultiKueueCluster that has it, "" if none; here are those that
	// lead to the mirror.
	chosen string
	here   []string
	// isSeen is whether it is known if there is a mirror where it was given to, and isAlone
	// whether there is none.
	isSeen, isAlone bool
}

// misplaced are the mirrors that run on another cluster than the one that their
// management cluster has given them to.
func (e *multiKueue) misplaced() []misplaced {
	var found []misplaced
	for d, x := range e.mirrors() {
		if x.Origin.DeletedAt != nil || !isLiveJob(x.mirror) {
			continue
		}
		w, _ := e.Workload(d.Facts, x.mirror.Namespace, x.mirror.Prebuilt())
		if w == nil || !d.Kueue.TellsNominations() {
			// Before Kueue 0.13, nobody writes down what is told to be deleted here.
			continue
		}
		m := misplaced{made: x, manager: d, workload: w, here: d.at(x.mirror.Context)}
		if w.Status.ClusterName != nil {
			m.chosen = *w.Status.ClusterName
		}
		if m.chosen != "" && e.mayBeOn(d.Facts, m.chosen, x.mirror) {
			continue
		}
		m.check = e.checkState(d.Facts, w)
		f, place := e.Worker(d.Facts, m.chosen)
		isThere := hasOn(x.Pair, place)
		m.isSeen = isThere || e.KnowsAll(f, x.Origin.Row())
		m.isAlone = m.isSeen && !isThere
		found = append(found, m)
	}
	return found
}

// hasOn is whether a pair has a mirror on a context.
func hasOn(p inspect.Pair, context string) bool {
	return slices.ContainsFunc(p.Mirrors, func(m inspect.Mirror) bool { return m.Current && m.Job.Context == context })
}

// mayBeOn says whether a mirror may be on a MultiKueueCluster of a manager: it was found
// on no other one, or it is not known where that is, so that the mirror may have been
// seen there by another address. What is said to be elsewhere is told to be deleted.
func (e *multiKueue) mayBeOn(manager *inspect.Facts, cluster string, j *inspect.Job) bool {
	f, known := e.Worker(manager, cluster)
	return f == nil || known == j.Context
}

// since is when the management cluster took the Job from where the mirror is.
func (x *misplaced) since() time.Time {
	if x.check == nil {
		return x.mirror.CreationTimestamp.Time
	}
	return x.check.LastTransitionTime.Time
}

// isConfigured is whether a MultiKueueConfig that the Workload is dispatched by
// has the cluster on which the mirror is; known is false where that cannot be told.
func (e *multiKueue) isConfigured(x misplaced) (is bool, config string, known bool) {
	configs, known := e.Configs(x.manager.Facts)
	wanted := ""
	if x.check != nil {
		if check, _ := e.Check(x.manager.Facts, x.check.Name); check != nil && check.Spec.Parameters != nil {
			wanted = check.Spec.Parameters.Name
		}
	}
	for _, c := range configs {
		if wanted != "" && c.Name != wanted {
			continue
		}
		config = c.Name
		if slices.ContainsFunc(c.Spec.Clusters, func(name string) bool { return slices.Contains(x.here, name) }) {
			return true, c.Name, known
		}
	}
	return false, config, known && config != ""
}

// place quotes to which cluster the management cluster has given the Job.
func (x *misplaced) place() string {
	return fmt.Sprintf("%s since %s", chosenOf(x.manager.Context, x.workload), day(x.since()))
}

// elsewhere says where else the Job runs, or waits to.
func (x *misplaced) elsewhere() string {
	if x.chosen == "" {
		return "and MultiKueue looks for another cluster to run it"
	}
	return "and " + x.chosen + " was given it too"
}

// sighting is what all misplaced mirrors have in common.
func (x *misplaced) sighting() Sighting {
	return Sighting{
		Object: OfKueue(x.manager.Facts, "MultiKueueCluster", "", x.here[0]), Since: x.since(),
		Evidence: []string{x.place(), stateOf(x.mirror)},
		Jobs:     x.jobs(),
		Cause:    x.manager.Context + "/" + x.here[0] + " " + x.mirror.Kind,
	}
}

// remedy is the commands that delete the mirror and its Workload.
func (x *misplaced) remedy() command.Prose {
	return command.Say("%s, and so for all %s named here", deleteBoth(x.mirror, x.mirror.Prebuilt()), plural(x.mirror))
}

// isHeard is whether MultiKueue can go on with the mirror: the origin has its start time,
// or may still have it. Only that of a Job cannot be changed any more.
func (x *misplaced) isHeard() bool {
	return !x.Origin.Row().IsJob() || x.Origin.StartTime == nil || x.mirror.StartTime == nil || x.Origin.StartTime.Equal(x.mirror.StartTime)
}

// tellAlone says that the mirror is the last one that there is, so that nobody deletes it
// for a second one.
func (x *misplaced) tellAlone(s *Sighting) {
	s.Cause += " alone"
	s.Message = fmt.Sprintf("the mirror taken from %s runs there alone: %s has it no more", x.here[0], x.chosen)
	s.Evidence = append(s.Evidence, fmt.Sprintf("%s: status.startTime of %s is %s, which keeps the status of the mirror from being copied",
		x.Origin.Context, named(Of(x.Origin)), stamp(*x.Origin.StartTime)))
	s.Remedy = command.Say("nothing else runs it, and MultiKueue cannot copy how it ends: have it end on %s, and keep what it has made; "+
		"then, or if it may start from the beginning, %s", x.mirror.Context, x.remedy())
}

func takenOut() Rule {
	return Rule{
		Code: "JM055", Title: "runs on a cluster removed from the MultiKueueConfig", Severity: inspect.Error,
		Holds: "no Job runs on a cluster outside the MultiKueueConfig",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `When a cluster is taken out of a MultiKueueConfig, MultiKueue takes its Jobs back and gives them to another
cluster, from the start. It does not delete what runs on the old one: its garbage collection keeps a copy as long as
the Workload exists on the management cluster, wherever that runs. So the Job runs twice, and only one of the two is
heard.`,
		Shows: `A mirror runs on a cluster whose MultiKueueCluster is in no MultiKueueConfig of the check, while the
Workload's status.clusterName on the management cluster names another one, or none.`,
		Remedy: `If another cluster runs the Job, delete the mirror and its Workload on the cluster that was taken out.
Otherwise let it end there. The next time, drain a cluster
before: stop the ClusterQueue there, and wait until nothing of MultiKueue's is left.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/tree/main/keps/693-multikueue",
		Covers: []string{"JM107"},
		Detect: func(v *View) {
			e := newMultiKueue(v)
			for _, x := range e.misplaced() {
				is, config, known := e.isConfigured(x)
				if is || !known || len(x.here) == 0 || slices.Contains(x.here, x.chosen) {
					continue
				}
				s := x.sighting()
				s.Message = fmt.Sprintf("%s is no longer in MultiKueueConfig %s, but still runs its mirror, %s", x.here[0], config, x.elsewhere())
				s.Evidence = append(s.Evidence, fmt.Sprintf("%s: spec.clusters of MultiKueueConfig %s lacks %s", x.manager.Context, config, x.here[0]))
				s.Remedy = x.remedy()
				if x.isMaybeAlone() {
					s.Cause += " alone"
					s.Remedy = command.Say("let it end on %s: it may be the only run; delete it there only once another cluster runs it", x.mirror.Context)
				}
				v.Report(s)
			}
		},
	}
}

// isMaybeAlone returns whether no other run of the Job was seen.
func (x *misplaced) isMaybeAlone() bool { return x.chosen == "" || !x.isSeen || x.isAlone }

func cameBack() Rule {
	return Rule{
		Code: "JM056", Title: "still runs on a worker that Kueue moved it away from", Severity: inspect.Error,
		Holds: "no Job still runs on a cluster that it was taken from",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `A worker that is not reached for 15 minutes (workerLostTimeout) counts as lost, and its Jobs are given to
others, while they run on where they are. When the worker comes back, MultiKueue takes the copy that was admitted
first for the right one, whatever the Workload's clusterName says, and deletes the other. The origin has the start
time of that one already, which cannot be changed any more, so that the status of the first is not copied until it is
deleted, too.`,
		Shows: `A mirror runs on a worker, and the Workload's status.clusterName on the management cluster names another
one.`,
		Remedy: `Where both run, delete the mirror and its Workload on the cluster that is not the Workload's clusterName,
before MultiKueue reaches it. Where the other one is gone, this one is the only run: have it end, and delete it then,
which has MultiKueue start the Job once more; or delete it at once.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/tree/main/keps/693-multikueue",
		Covers: []string{"JM107"},
		Detect: func(v *View) {
			e := newMultiKueue(v)
			for _, x := range e.misplaced() {
				is, _, known := e.isConfigured(x)
				if !is || !known || x.chosen == "" || slices.Contains(x.here, x.chosen) || !x.isSeen {
					// What may be the only one that runs is told nobody to delete.
					continue
				}
				s := x.sighting()
				if active := v.activeOf(x.manager.Facts, x.here[0]); active != nil {
					s.Since = newest(s.Since, active.LastTransitionTime.Time)
					s.Evidence = append(s.Evidence, fmt.Sprintf("%s: condition Active of MultiKueueCluster %s is %s since %s",
						x.manager.Context, x.here[0], active.Status, stamp(active.LastTransitionTime)))
				}
				if x.isAlone {
					if x.isHeard() {
						continue
					}
					x.tellAlone(&s)
					v.Report(s)
					continue
				}
				s.Message = fmt.Sprintf("the mirror taken from %s still runs there, %s", x.here[0], x.elsewhere())
				s.Awaits = v.awaitsKueue(x.manager.Facts, x.workload, inspect.DutyRemove, x.mirror.Context, x.manager.Context, s.Since)
				s.Remedy = x.remedy()
				v.Report(s)
			}
		},
	}
}

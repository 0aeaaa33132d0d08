package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// home is where a Job already has its mirror.
type home struct {
	// worker is the worker that has the mirror, or had it according to the origin; nil if the Job
	// may be given to any worker.
	worker *worker
	// mirror is the mirror's UID if it was found.
	mirror types.UID
	// cleared are recorded places that were searched without finding a mirror.
	cleared []delegation.Place
	// err is why it cannot be dispatched to any of the workers, or why that is unknown.
	err error
}

// homes finds out which Jobs already have mirrors, and where: by the label of mirrors, and by the
// record of each Job. A Job stays where its mirror is, whichever worker comes first.
func (o *dispatchOptions) homes(ctx context.Context, origin *fleet.Cluster, workers []*worker, requests []request) []home {
	found := make([]home, len(requests))
	records := make([]dispatch.Record, len(requests))
	each := func(do func(i int, r request)) {
		var group errgroup.Group
		group.SetLimit(checkedAtOnce)
		for i, r := range requests {
			if r.Origin.GetUID() != "" {
				group.Go(func() error {
					do(i, r)
					return nil
				})
			}
		}
		_ = group.Wait() // Each has its own error.
	}
	each(func(i int, r request) { records[i] = dispatch.ReadRecord(ctx, origin, r.kind, r.Origin) })
	s := o.search(ctx, workers, requests, records)
	each(func(i int, r request) { found[i] = o.homeOf(ctx, s, r, records[i]) })
	return found
}

// survey is what is known about the places of mirrors.
type survey struct {
	workers []*worker
	// mirrors are those on the workers, by the UIDs of their origins.
	mirrors map[string][]foundMirror
	// otherContexts returns the other contexts of the kubeconfig. They are connected only if a
	// recorded mirror is not on the workers.
	otherContexts func() *otherContexts
}

type foundMirror struct {
	worker *worker
	dispatch.FoundMirror
}

// search searches the workers for mirrors, once for all Jobs of a kind.
func (o *dispatchOptions) search(ctx context.Context, workers []*worker, requests []request, records []dispatch.Record) *survey {
	s := &survey{workers: workers, mirrors: map[string][]foundMirror{}, otherContexts: o.otherContextsOf(ctx, workers)}
	kinds, uids, namespaces := map[string]delegation.Kind{}, map[string][]string{}, map[string][]string{}
	for i, r := range requests {
		if uid := string(r.Origin.GetUID()); uid != "" {
			key := r.kind.Resource.String()
			kinds[key], uids[key] = r.kind, append(uids[key], uid)
			for _, namespace := range records[i].Namespaces(cmp.Or(o.flags.namespaceTo, r.Origin.GetNamespace())) {
				if !slices.Contains(namespaces[key], namespace) {
					namespaces[key] = append(namespaces[key], namespace)
				}
			}
		}
	}
	for key, kind := range kinds {
		searches := make([]*dispatch.SearchResult, len(workers))
		var group errgroup.Group
		for i, w := range workers {
			if w.cluster != nil {
				group.Go(func() error {
					searches[i] = dispatch.SearchContexts(ctx, w.routes, kind, uids[key], namespaces[key])
					return nil
				})
			}
		}
		_ = group.Wait() // An incomplete search matters only if something is recorded.
		for i, searched := range searches {
			if searched == nil {
				continue
			}
			for uid, mirrors := range searched.Mirrors {
				for _, m := range mirrors {
					s.add(uid, foundMirror{workers[i], m})
				}
			}
		}
	}
	return s
}

// add adds a mirror, once for all contexts that show it.
func (s *survey) add(originUID string, m foundMirror) {
	isSame := func(other foundMirror) bool { return other.Object.GetUID() == m.Object.GetUID() }
	if !slices.ContainsFunc(s.mirrors[originUID], isSame) {
		s.mirrors[originUID] = append(s.mirrors[originUID], m)
	}
}

func (o *dispatchOptions) homeOf(ctx context.Context, s *survey, r request, record dispatch.Record) home {
	name := object.KindAndName(r.Origin)
	if object.HasFinished(r.kind, r.Origin) {
		return s.lastHome(o, r, record)
	}
	var h home
	switch mirrors := s.mirrors[string(r.Origin.GetUID())]; len(mirrors) {
	case 0:
	case 1:
		m := mirrors[0]
		if namespace := m.Object.GetNamespace(); namespace != cmp.Or(o.flags.namespaceTo, r.Origin.GetNamespace()) {
			return home{err: fmt.Errorf("%s is already dispatched to %s/%s on %s. Resume it with --namespace-to %s", name, namespace, m.Object.GetName(), m.worker.context, namespace)}
		}
		h.worker, h.mirror = m.worker, m.Object.GetUID()
	default:
		return home{err: fmt.Errorf("%s has mirrors on %s and on %s. End both with cancel", name, mirrors[0].worker.context, mirrors[1].worker.context)}
	}
	if h.worker == nil && record.LeaseErr != nil {
		return home{err: fmt.Errorf("%s: cannot find out whether it is already dispatched: %w", name, record.LeaseErr)}
	}
	for _, p := range record.Places() {
		if h.worker != nil && s.isExplained(&h, string(r.Origin.GetUID()), record, p) {
			continue
		}
		if err := o.settle(ctx, s, r, record, p, &h); err != nil {
			return home{err: err}
		}
	}
	return h
}

// isExplained reports whether a recorded place need not be searched in addition to the mirror
// that was found: it is that mirror's place, or the Lease names the place where the mirror was
// found, and an annotation, which anybody may have written, names another.
func (s *survey) isExplained(h *home, originUID string, record dispatch.Record, p delegation.Place) bool {
	if p.UID == string(h.mirror) || p.UID == "" && s.isAt(h.worker, originUID, p) {
		return true
	}
	if !s.isAt(h.worker, originUID, record.Target) {
		return false
	}
	h.cleared = append(h.cleared, p)
	return true
}

// lastHome returns the worker on which a finished Job had its mirror. No mirror is created for
// it.
func (s *survey) lastHome(o *dispatchOptions, r request, record dispatch.Record) home {
	p := record.Mirror
	isPlace := p.Namespace == cmp.Or(o.flags.namespaceTo, r.Origin.GetNamespace()) && p.Name == r.Origin.GetName()
	for _, is := range []delegation.Sameness{delegation.CertainlySame, delegation.PerhapsSame} {
		for _, w := range reached(s.workers) {
			if isPlace && p.On(w.cluster.Identity()) == is {
				return home{worker: w}
			}
		}
	}
	return home{}
}

// outlook is what all contexts show of a recorded place.
type outlook struct {
	isGone, isCopy bool
	// contexts are the contexts that may reach the place's cluster and do not show the mirror,
	// with the reason if there is one.
	contexts []string
}

// lookAt looks at a recorded place through the workers and all other contexts. It returns an
// error if the mirror is there, or another object that the record names.
func (o *dispatchOptions) lookAt(ctx context.Context, s *survey, r request, p delegation.Place) (found outlook, err error) {
	name, ref := object.KindAndName(r.Origin), dispatch.RefOf(o.origin.Name, r.Origin)
	for _, w := range slices.Concat(reached(s.workers), s.otherContexts().clusters) {
		check, err := dispatch.CheckPlace(ctx, w.cluster, r.kind, ref, p)
		switch {
		case ctx.Err() != nil:
			return found, context.Cause(ctx)
		case check.Foreign != nil:
			return found, check.Foreign.InAnnotation(r.kind)
		case check.Mirror != nil:
			return found, fmt.Errorf("%s is already dispatched to %s/%s on %s. Resume it with --to %s, or end it with cancel", name, p.Namespace, p.Name, w.context, w.context)
		case check.Sameness == delegation.CertainlyOther:
			continue
		case err != nil:
			found.contexts = append(found.contexts, fmt.Sprintf("%s: %v", w.context, err))
		default:
			found.contexts = append(found.contexts, w.context)
		}
		found.isGone, found.isCopy = found.isGone || err == nil && check.IsGone, found.isCopy || check.IsCopy
	}
	for _, missing := range slices.Concat(unreached(s.workers), s.otherContexts().unreached) {
		found.contexts = append(found.contexts, missing+" (no answer)")
	}
	return found, nil
}

// settle finds out what is at a recorded place of a Job whose mirror was not found, and decides
// whether the Job may be dispatched.
func (o *dispatchOptions) settle(ctx context.Context, s *survey, r request, record dispatch.Record, p delegation.Place, h *home) error {
	name := object.KindAndName(r.Origin)
	found, err := o.lookAt(ctx, s, r, p)
	switch {
	case err != nil:
		return err
	case found.isCopy:
		util.Report(o.ErrOut, "note: the annotation %s of %s names the mirror of another %s; ignored", delegation.MirrorAnnotation, name, r.kind.Kind)
	case !found.isGone:
		return errors.New(dispatch.MirrorNotFound(dispatch.RefOf(o.origin.Name, r.Origin), p, found.contexts))
	case p == record.Mirror && h.worker == nil:
		if o.flags.newMirror {
			if err := o.searchOthers(ctx, s, r, record); err != nil {
				return err
			}
		}
		if h.worker = s.workerAt(o, r, p); h.worker != nil {
			return nil
		}
		if !o.flags.newMirror {
			return fmt.Errorf("%s: its mirror %s/%s on %s was deleted by another client. Run it again from the start with --new-mirror, or end it with cancel", name, p.Namespace, p.Name, p.Cluster())
		}
	}
	h.cleared = append(h.cleared, p)
	return nil
}

// isAt reports whether the mirror that was found is at a place.
func (s *survey) isAt(at *worker, originUID string, p delegation.Place) bool {
	found := s.mirrors[originUID][0].Object
	return p.Namespace == found.GetNamespace() && p.Name == found.GetName() && p.On(at.cluster.Identity()) == delegation.CertainlySame
}

// workerAt returns the worker where a dispatch would have its mirror at a place; nil if there is
// none.
func (s *survey) workerAt(o *dispatchOptions, r request, p delegation.Place) *worker {
	for _, w := range reached(s.workers) {
		isPlace := p.Namespace == cmp.Or(o.flags.namespaceTo, r.Origin.GetNamespace()) && p.Name == r.Origin.GetName()
		if isPlace && p.On(w.cluster.Identity()) == delegation.CertainlySame {
			return w
		}
	}
	return nil
}

// searchOthers searches all other contexts for mirrors before another one is created.
func (o *dispatchOptions) searchOthers(ctx context.Context, s *survey, r request, record dispatch.Record) error {
	uid := string(r.Origin.GetUID())
	var unsearched []string
	for _, w := range s.otherContexts().clusters {
		searched := dispatch.SearchContexts(ctx, w.routes, r.kind, []string{uid}, record.Namespaces(r.Origin.GetNamespace()))
		if mirrors := searched.Mirrors[uid]; len(mirrors) > 0 {
			m := mirrors[0].Object
			return fmt.Errorf("%s has a mirror on %s, %s/%s. Resume it with --to %s, or end it with cancel", object.KindAndName(r.Origin), w.context, m.GetNamespace(), m.GetName(), w.context)
		}
		if !searched.IsComplete() {
			unsearched = append(unsearched, searched.String())
		}
	}
	for _, name := range s.otherContexts().unreached {
		unsearched = append(unsearched, "context "+name+": no answer")
	}
	if len(unsearched) > 0 {
		util.Report(o.ErrOut, "note: not searched for mirrors of %s: %s", object.KindAndName(r.Origin), strings.Join(unsearched, "; "))
	}
	return nil
}

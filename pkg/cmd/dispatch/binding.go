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

// binding is the worker on which a Job already has its mirror.
type binding struct {
	// worker has the mirror, or had it according to the origin. It is nil if the Job may be
	// assigned to any worker.
	worker *worker
	// mirror is the mirror's UID if it was found.
	mirror types.UID
	// cleared are recorded places that were searched without finding a mirror.
	cleared []delegation.Place
	// err is the reason why the Job cannot be dispatched to any of the workers.
	err error
}

// findBindings finds the existing mirrors of Jobs, by the label of mirrors and by the record of
// each Job. A Job stays where its mirror is, whichever worker comes first.
func (o *dispatchOptions) findBindings(ctx context.Context, origin *fleet.Cluster, workers []*worker, requests []request) []binding {
	found := make([]binding, len(requests))
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
	each(func(i int, r request) { found[i] = o.bindingOf(ctx, s, r, records[i]) })
	return found
}

// mirrorSearch has the results of the search for mirrors.
type mirrorSearch struct {
	workers []*worker
	// mirrors are those on the workers, by the UIDs of their origins.
	mirrors map[string][]foundMirror
	// otherContexts returns the other contexts of the kubeconfig. The first call connects to them,
	// only if a recorded mirror is not on the workers.
	otherContexts func() *otherContexts
}

type foundMirror struct {
	worker *worker
	dispatch.FoundMirror
}

// search searches the workers for mirrors, once for all Jobs of a kind.
func (o *dispatchOptions) search(ctx context.Context, workers []*worker, requests []request, records []dispatch.Record) *mirrorSearch {
	s := &mirrorSearch{workers: workers, mirrors: map[string][]foundMirror{}, otherContexts: o.otherContextsOf(ctx, workers)}
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

// add adds a mirror, unless another context has shown it.
func (s *mirrorSearch) add(originUID string, m foundMirror) {
	isSame := func(other foundMirror) bool { return other.Object.GetUID() == m.Object.GetUID() }
	if !slices.ContainsFunc(s.mirrors[originUID], isSame) {
		s.mirrors[originUID] = append(s.mirrors[originUID], m)
	}
}

func (o *dispatchOptions) bindingOf(ctx context.Context, s *mirrorSearch, r request, record dispatch.Record) binding {
	name := object.KindAndName(r.Origin)
	if object.HasFinished(r.kind, r.Origin) {
		return s.finishedBinding(o, r, record)
	}
	var b binding
	switch mirrors := s.mirrors[string(r.Origin.GetUID())]; len(mirrors) {
	case 0:
	case 1:
		m := mirrors[0]
		if namespace := m.Object.GetNamespace(); namespace != cmp.Or(o.flags.namespaceTo, r.Origin.GetNamespace()) {
			return binding{err: fmt.Errorf("%s is already dispatched to %s/%s on %s. Resume it with --namespace-to %s", name, namespace, m.Object.GetName(), m.worker.context, namespace)}
		}
		b.worker, b.mirror = m.worker, m.Object.GetUID()
	default:
		return binding{err: fmt.Errorf("%s has mirrors on %s and on %s. End both with cancel", name, mirrors[0].worker.context, mirrors[1].worker.context)}
	}
	if b.worker == nil && record.LeaseErr != nil {
		return binding{err: fmt.Errorf("%s: cannot find out whether it is already dispatched: %w", name, record.LeaseErr)}
	}
	for _, p := range record.Places() {
		if b.mirror != "" && s.isCovered(&b, string(r.Origin.GetUID()), record, p) {
			continue
		}
		if err := o.checkPlace(ctx, s, r, record, p, &b); err != nil {
			return binding{err: err}
		}
	}
	return b
}

// isCovered reports whether the found mirror settles a recorded place, so that it need not be
// searched. The place is that of the mirror, or it is from an annotation, which any user may have
// written, and the Lease names the place of the mirror.
func (s *mirrorSearch) isCovered(b *binding, originUID string, record dispatch.Record, p delegation.Place) bool {
	if p.UID == string(b.mirror) || p.UID == "" && s.isAt(b.worker, originUID, p) {
		return true
	}
	if !s.isAt(b.worker, originUID, record.Target) {
		return false
	}
	b.cleared = append(b.cleared, p)
	return true
}

// finishedBinding returns the worker on which a finished Job had its mirror.
func (s *mirrorSearch) finishedBinding(o *dispatchOptions, r request, record dispatch.Record) binding {
	p := record.Mirror
	isPlace := p.Namespace == cmp.Or(o.flags.namespaceTo, r.Origin.GetNamespace()) && p.Name == r.Origin.GetName()
	for _, sameness := range []delegation.Sameness{delegation.CertainlySame, delegation.PerhapsSame} {
		for _, w := range reached(s.workers) {
			if isPlace && p.On(w.cluster.Identity()) == sameness {
				return binding{worker: w}
			}
		}
	}
	return binding{}
}

// placeState is the state of a recorded place, as seen through all contexts.
type placeState struct {
	// isGone is set if the mirror is gone. isCopy is set if it is the mirror of another Job.
	isGone, isCopy bool
	// contexts are the contexts that may reach the place's cluster and do not show the mirror,
	// with the reason if there is one.
	contexts []string
}

// readPlace reads a recorded place through the workers and all other contexts. It returns an error
// if it finds the mirror, or another object that the record names.
func (o *dispatchOptions) readPlace(ctx context.Context, s *mirrorSearch, r request, p delegation.Place) (found placeState, err error) {
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

// checkPlace reads a recorded place of a Job whose mirror was not found, and returns an error if
// the Job must not be dispatched.
func (o *dispatchOptions) checkPlace(ctx context.Context, s *mirrorSearch, r request, record dispatch.Record, p delegation.Place, b *binding) error {
	name := object.KindAndName(r.Origin)
	found, err := o.readPlace(ctx, s, r, p)
	switch {
	case err != nil:
		return err
	case found.isCopy:
		util.Report(o.ErrOut, "note: the annotation %s of %s names the mirror of another %s; ignored", delegation.MirrorAnnotation, name, r.kind.Kind)
	case !found.isGone:
		return errors.New(dispatch.MirrorNotFound(dispatch.RefOf(o.origin.Name, r.Origin), p, found.contexts))
	case p == record.Mirror && b.worker == nil:
		if o.flags.newMirror {
			if err := o.searchOthers(ctx, s, r, record); err != nil {
				return err
			}
		}
		if b.worker = s.workerAt(o, r, p); b.worker != nil {
			return nil
		}
		if !o.flags.newMirror {
			return fmt.Errorf("%s: its mirror %s/%s on %s was deleted by another client. Run it again from the start with --new-mirror, or end it with cancel", name, p.Namespace, p.Name, p.Cluster())
		}
	}
	b.cleared = append(b.cleared, p)
	return nil
}

// isAt reports whether the mirror that was found is at a place.
func (s *mirrorSearch) isAt(at *worker, originUID string, p delegation.Place) bool {
	found := s.mirrors[originUID][0].Object
	return p.Namespace == found.GetNamespace() && p.Name == found.GetName() && p.On(at.cluster.Identity()) == delegation.CertainlySame
}

// workerAt returns the worker whose mirror of the Job would be at a place, nil without such a worker.
func (s *mirrorSearch) workerAt(o *dispatchOptions, r request, p delegation.Place) *worker {
	for _, w := range reached(s.workers) {
		isPlace := p.Namespace == cmp.Or(o.flags.namespaceTo, r.Origin.GetNamespace()) && p.Name == r.Origin.GetName()
		if isPlace && p.On(w.cluster.Identity()) == delegation.CertainlySame {
			return w
		}
	}
	return nil
}

// searchOthers searches all other contexts for mirrors before another one is created.
func (o *dispatchOptions) searchOthers(ctx context.Context, s *mirrorSearch, r request, record dispatch.Record) error {
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
